import { createFileRegistry, type DescFile, fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { type Server, type ServerDuplexStream, type ServiceDefinition, status } from '@grpc/grpc-js';
import { loadFileDescriptorSetFromBuffer } from '@grpc/proto-loader';
import { overloadFailure } from '../calls/failures.js';
import { descriptorSet } from '../gen/descriptor-set.js';
import type { StreamingCalls } from './streaming-calls.js';

/** The published versions of the protocol, which differ only in their package. */
const SERVICES = ['v1', 'v1alpha'].map((version) => `grpc.reflection.${version}.ServerReflection`);

/** How much earlier than the clock a deadline's timer may fire, in milliseconds. */
const TIMER_MS = 5;

/** The path of the reflection method, in each version. */
export const REFLECTION_PATHS = SERVICES.map((service) => `/${service}/ServerReflectionInfo`);

/**
 * The members of `ServerReflectionRequest`, as proto-loader names them; `message_request` names the member that is set.
 */
interface ReflectionRequest {
  readonly message_request?: keyof Answers;
  readonly file_by_filename?: string;
  readonly file_containing_symbol?: string;
  readonly file_containing_extension?: {
    readonly containing_type: string;
    readonly extension_number: number;
  };
  readonly all_extension_numbers_of_type?: string;
  readonly list_services?: string;
}

type Answers = Required<Omit<ReflectionRequest, 'message_request'>>;

/** One member of the `message_response` of `ServerReflectionResponse`. */
type ReflectionAnswer = Readonly<Record<string, object>>;

/**
 * Adds `grpc.reflection.v1` and `v1alpha`
 * (https://github.com/grpc/grpc/blob/master/doc/server-reflection.md): they list `services` and themselves,
 * and describe every file of the contract as it was compiled, with its options.
 */
export function addReflectionTo(server: Server, services: readonly string[], calls: StreamingCalls): void {
  const definitions = loadFileDescriptorSetFromBuffer(Buffer.from(descriptorSet), { oneofs: true });
  const reflection = new Reflection([...services, ...SERVICES].sort());
  for (const service of SERVICES) {
    server.addService(definitions[service] as ServiceDefinition, {
      ServerReflectionInfo: (stream: ServerDuplexStream<ReflectionRequest, object>) => {
        if (!calls.begin(stream, () => overloadFailure('Too many streaming calls are open.'))) return;
        stream.on('end', () => stream.end());
        stream.on('data', (request: ReflectionRequest) => {
          // A response after the deadline would prevent grpc-js from sending its status.
          if (Number(stream.getDeadline()) - Date.now() <= TIMER_MS) return;
          // Reads the next request only once the response is sent: a response may be far larger than its request.
          stream.pause();
          stream.write({ original_request: request, ...reflection.answer(request) }, () => stream.resume());
        });
      },
    });
  }
}

class Reflection {
  readonly #registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptorSet));
  /** Encoded once: unauthenticated clients may request them as often as they like. */
  readonly #encoded = new Map(
    Array.from(this.#registry.files, (file) => [file, toBinary(FileDescriptorProtoSchema, file.proto)]),
  );
  readonly #services: readonly string[];
  readonly #answers: { readonly [Asked in keyof Answers]: (asked: Answers[Asked]) => ReflectionAnswer } = {
    list_services: () => ({ list_services_response: { service: this.#services.map((name) => ({ name })) } }),
    file_by_filename: (name) => this.#filesOf(this.#registry.getFile(name), name),
    file_containing_symbol: (name) => this.#filesOf(this.#fileOf(name), name),
    file_containing_extension: ({ containing_type: type, extension_number: asked }) =>
      this.#filesOf(
        this.#extensionsOf(type).find(({ number }) => number === asked)?.file,
        `extension ${asked} of ${type}`,
      ),
    all_extension_numbers_of_type: (name) =>
      this.#registry.getMessage(name) === undefined
        ? notFound(name)
        : {
            all_extension_numbers_response: {
              base_type_name: name,
              extension_number: this.#extensionsOf(name).map(({ number }) => number),
            },
          },
  };

  constructor(services: readonly string[]) {
    this.#services = services;
  }

  answer(request: ReflectionRequest): ReflectionAnswer {
    const { message_request: asked } = request;
    if (asked === undefined) return errorAnswer(status.INVALID_ARGUMENT, 'The request asks for nothing.');
    const answerTo = this.#answers[asked] as (asked: unknown) => ReflectionAnswer;
    return answerTo(request[asked]);
  }

  /** The file of a type, or of one of its members: a method, a field, a oneof or an enum value. */
  #fileOf(name: string): DescFile | undefined {
    const type = this.#registry.get(name);
    if (type !== undefined) return type.file;
    const [, parent = '', member = ''] = /^(.*)\.([^.]+)$/.exec(name) ?? [];
    const owner = this.#registry.get(parent);
    return owner !== undefined && membersOf(owner).includes(member) ? owner.file : undefined;
  }

  /** The file and all its dependencies, the file itself first. */
  #filesOf(file: DescFile | undefined, asked: string): ReflectionAnswer {
    if (file === undefined) return notFound(asked);
    const needed = new Set<DescFile>();
    const addWithDependencies = (added: DescFile): void => {
      if (needed.has(added)) return;
      needed.add(added);
      added.dependencies.forEach(addWithDependencies);
    };
    addWithDependencies(file);
    const protos = Array.from(needed, (added) => this.#encoded.get(added));
    return { file_descriptor_response: { file_descriptor_proto: protos } };
  }

  #extensionsOf(typeName: string): { readonly number: number; readonly file: DescFile }[] {
    return [...this.#registry].filter(
      (type) => type.kind === 'extension' && type.extendee.typeName === typeName,
    ) as { number: number; file: DescFile }[];
  }
}

type Described = NonNullable<ReturnType<ReturnType<typeof createFileRegistry>['get']>>;

function membersOf(type: Described): string[] {
  switch (type.kind) {
    case 'service':
      return type.methods.map(({ name }) => name);
    case 'enum':
      return type.values.map(({ name }) => name);
    case 'message':
      return [...type.fields, ...type.oneofs].map(({ name }) => name);
    case 'extension':
      return [];
  }
}

function notFound(asked: string): ReflectionAnswer {
  return errorAnswer(status.NOT_FOUND, `There is no ${asked}.`);
}

function errorAnswer(code: status, message: string): ReflectionAnswer {
  return { error_response: { error_code: code, error_message: message } };
}
