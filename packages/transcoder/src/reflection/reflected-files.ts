import { create, createFileRegistry, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import { linkFiles } from './link-files.js';
import { ReflectionError } from './reflection-error.js';
import type { Question, ReflectionStream } from './reflection-stream.js';

/** The maximum size of a set of files, in bytes: far more than any set that Google publishes. */
export const MAX_SET_BYTES = 64 * 1024 * 1024;

/** The files that describe the services of a server. */
export class ReflectedFiles {
  readonly #stream: ReflectionStream;
  readonly #files = new Map<string, FileDescriptorProto>();
  readonly #services = new Set<string>();
  #bytes = 0;

  constructor(stream: ReflectionStream) {
    this.#stream = stream;
  }

  /** Fetches the file of a service, unless it is already there. @returns whether the server has it */
  async takeService(name: string): Promise<boolean> {
    if (this.#services.has(name)) return true;
    await this.#take({ case: 'fileContainingSymbol', value: name });
    return this.#services.has(name);
  }

  /**
   * Returns all files as a serialized `google.protobuf.FileDescriptorSet`, imports first. Fetches imports that are
   * still missing: some servers send a file with all its imports, others send it alone. An import that the server does
   * not have is left out, which does no harm if only options use it, as with `gogoproto/gogo.proto`.
   *
   * @throws ReflectionError (rejects) if the files are inconsistent or too large.
   */
  async complete(): Promise<Uint8Array> {
    const lacking = new Map<string, string>();
    // The iteration includes files that are added during the loop.
    for (const { name: importer, dependency } of this.#files.values()) {
      for (const name of dependency) {
        if (this.#files.has(name) || lacking.has(name)) continue;
        await this.#take({ case: 'fileByFilename', value: name });
        if (!this.#files.has(name)) lacking.set(name, importer);
      }
    }
    for (const file of this.#files.values()) leaveOutImports(file, lacking);
    linkFiles([...this.#files.values()]);
    const set = create(FileDescriptorSetSchema, { file: this.#inOrder() });
    try {
      createFileRegistry(set);
    } catch (error) {
      const gaps = [...lacking].map(([name, importer]) => ` It lacks ${name}, which ${importer} imports.`);
      const text = `The files of the server do not fit together: ${(error as Error).message}.`;
      throw new ReflectionError(status.DATA_LOSS, text + gaps.join(''));
    }
    return toBinary(FileDescriptorSetSchema, set);
  }

  /** Fetches the files that a request asks for. If the server does not have them, none are added. */
  async #take(question: Question): Promise<void> {
    const answer = await this.#stream.ask(question);
    if (answer.case !== 'fileDescriptorResponse') return;
    for (const bytes of answer.value.fileDescriptorProto) {
      const file = fromBinary(FileDescriptorProtoSchema, bytes);
      if (this.#files.has(file.name)) continue;
      this.#bytes += bytes.length;
      if (this.#bytes > MAX_SET_BYTES)
        throw new ReflectionError(status.RESOURCE_EXHAUSTED, 'The contract is larger than 64 MiB.');
      this.#files.set(file.name, file);
      for (const { name } of file.service) this.#services.add([file.package, name].filter(Boolean).join('.'));
    }
  }

  #inOrder(): FileDescriptorProto[] {
    const ordered = new Set<FileDescriptorProto>();
    const seen = new Set<string>();
    const add = (name: string): void => {
      const file = this.#files.get(name);
      if (file === undefined || seen.has(name)) return;
      seen.add(name);
      file.dependency.forEach(add);
      ordered.add(file);
    };
    for (const name of this.#files.keys()) add(name);
    return [...ordered];
  }
}

/** Removes missing imports. Public and weak imports are indexes into the list of imports, so they are updated. */
function leaveOutImports(file: FileDescriptorProto, lacking: ReadonlyMap<string, string>): void {
  const { dependency } = file;
  const kept = dependency.filter((name) => !lacking.has(name));
  const moved = (places: readonly number[]): number[] =>
    places.map((place) => kept.indexOf(String(dependency[place]))).filter((place) => place >= 0);
  file.publicDependency = moved(file.publicDependency);
  file.weakDependency = moved(file.weakDependency);
  file.dependency = kept;
}
