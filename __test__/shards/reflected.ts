/** A client of `@grpc/grpc-js` without a proto file: its services and messages come from the server's reflection. */
import {
  type ClientDuplexStream,
  type ServiceClientConstructor,
  credentials,
  loadPackageDefinition,
} from '@grpc/grpc-js';
import { type PackageDefinition, fromJSON, loadFileDescriptorSetFromBuffer } from '@grpc/proto-loader';

const OPTIONS = { keepCase: true, longs: String, enums: String, oneofs: true };

/** The used part of https://github.com/grpc/grpc/blob/master/src/proto/grpc/reflection/v1/reflection.proto. */
function reflectionOf(version: string): PackageDefinition {
  return fromJSON(
    {
      nested: {
        [`grpc.reflection.${version}`]: {
          nested: {
            ServerReflection: {
              methods: {
                ServerReflectionInfo: {
                  requestType: 'Request',
                  requestStream: true,
                  responseType: 'Response',
                  responseStream: true,
                  comment: '',
                },
              },
            },
            Request: {
              fields: {
                host: { type: 'string', id: 1 },
                file_containing_symbol: { type: 'string', id: 4 },
                list_services: { type: 'string', id: 7 },
              },
            },
            Response: {
              fields: {
                file_descriptor_response: { type: 'Files', id: 4 },
                list_services_response: { type: 'Services', id: 6 },
                error_response: { type: 'Failure', id: 7 },
              },
            },
            Files: { fields: { file_descriptor_proto: { rule: 'repeated', type: 'bytes', id: 1 } } },
            Services: { fields: { service: { rule: 'repeated', type: 'Service', id: 1 } } },
            Service: { fields: { name: { type: 'string', id: 1 } } },
            Failure: { fields: { error_code: { type: 'int32', id: 1 }, error_message: { type: 'string', id: 2 } } },
          },
        },
      },
    },
    OPTIONS,
  );
}

interface Answer {
  readonly file_descriptor_response?: { readonly file_descriptor_proto: readonly Buffer[] } | null;
  readonly list_services_response?: { readonly service: readonly { readonly name: string }[] } | null;
  readonly error_response?: { readonly error_code: number; readonly error_message: string } | null;
}

/** The reflection service of a server. */
export class Reflection {
  readonly #address: string;
  readonly #service: ServiceClientConstructor;

  constructor(url: string, version = 'v1') {
    this.#address = new URL(url).host;
    this.#service = constructorOf(reflectionOf(version), `grpc.reflection.${version}.ServerReflection`);
  }

  /** The names of the server's services. */
  async services(): Promise<string[]> {
    const { list_services_response: listed } = await this.#ask({ list_services: '' });
    return listed!.service.map(({ name }) => name);
  }

  /** The definitions in the file that describes a service. */
  async definitionOf(service: string): Promise<PackageDefinition> {
    const { file_descriptor_response: files, error_response: failure } = await this.#ask({
      file_containing_symbol: service,
    });
    if (failure) throw new Error(failure.error_message);
    return loadFileDescriptorSetFromBuffer(descriptorSet(files!.file_descriptor_proto), OPTIONS);
  }

  /** A client of a service. */
  async clientOf(service: string): Promise<InstanceType<ServiceClientConstructor>> {
    const Client = constructorOf(await this.definitionOf(service), service);
    return new Client(this.#address, credentials.createInsecure());
  }

  async #ask(request: object): Promise<Answer> {
    const client = new this.#service(this.#address, credentials.createInsecure());
    try {
      const call = client['ServerReflectionInfo']!() as ClientDuplexStream<object, Answer>;
      const answer = new Promise<Answer>((resolve, reject) => call.once('data', resolve).once('error', reject));
      call.write(request);
      call.end();
      return await answer;
    } finally {
      client.close();
    }
  }
}

function constructorOf(definition: PackageDefinition, service: string): ServiceClientConstructor {
  const found = service
    .split('.')
    .reduce<unknown>((scope, name) => (scope as Record<string, unknown>)[name], loadPackageDefinition(definition));
  return found as ServiceClientConstructor;
}

/** A `FileDescriptorSet`: each file as its field 1. */
function descriptorSet(files: readonly Buffer[]): Buffer {
  return Buffer.concat(files.flatMap((file) => [Buffer.of(0x0a, ...varint(file.length)), file]));
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}
