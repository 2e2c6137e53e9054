/* Stands before the system's getaddrinfo: the host two-addresses.test has the addresses 127.0.0.2 and 127.0.0.1, in this order. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>

typedef int (*Lookup)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
  Lookup lookup = (Lookup)dlsym(RTLD_NEXT, "getaddrinfo");
  if (host == 0 || strcmp(host, "two-addresses.test") != 0) return lookup(host, service, hints, found);
  int failed = lookup("127.0.0.2", service, hints, found);
  return failed ? failed : lookup("127.0.0.1", service, hints, &(*found)->ai_next);
}
