/** A module that `load` loads when one of its members is first read. That read throws what `load` throws, and the next read loads again. */
export function lazyModule<Module extends object>(load: () => Module): Module {
  const module = Object.create(
    new Proxy(Object.prototype, {
      get(_, name) {
        Object.setPrototypeOf(Object.assign(module, load()), Object.prototype);
        return Reflect.get(module, name);
      },
    }),
  ) as Module;
  return module;
}
