import { hash } from 'node:crypto';
import {
  clone,
  create,
  createRegistry,
  type DescMessage,
  equals,
  fromBinary,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import {
  DescriptorProtoSchema,
  EnumDescriptorProtoSchema,
  file_google_protobuf_api,
  file_google_protobuf_descriptor,
  file_google_protobuf_source_context,
  file_google_protobuf_type,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  ServiceDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import { file_google_api_http } from '../../gen/google/api/http_pb.js';
import { file_google_rpc_code } from '../../gen/google/rpc/code_pb.js';
import { file_google_rpc_error_details } from '../../gen/google/rpc/error_details_pb.js';
import { file_google_rpc_status } from '../../gen/google/rpc/status_pb.js';
import { WELL_KNOWN } from '../../template/descriptor-set.js';
import { removeExtensions } from './link-files.js';
import type { TimeSlices } from './time-slices.js';
import { ReflectionError } from './reflection-error.js';
import type { Question, ReflectionStream } from './reflection-stream.js';
import { validFiles } from './valid-files.js';
import {
  type FileSymbol,
  fullName,
  readings,
  symbolFor,
  symbolsOf,
  type TypeUse,
  typeUses,
} from './symbols.js';

/** The maximum size of a set of files, in bytes: far more than any set that Google publishes. */
export const MAX_SET_BYTES = 64 * 1024 * 1024;

type FileQuestion = Extract<Question, { case: 'fileByFilename' | 'fileContainingSymbol' }>;

/** Those files of a server that fit together, as a set. */
interface FileSet {
  /** A serialized `google.protobuf.FileDescriptorSet`, imports first. */
  readonly descriptorSet: Uint8Array;
  /** Why symbols of the server (messages, methods, services and so on) are left out, by full name. */
  readonly whyLeftOut: ReadonlyMap<string, string>;
}

/** The files with which a server describes itself. */
export class ReflectedFiles {
  readonly #stream: ReflectionStream;
  readonly #slices: TimeSlices;
  readonly #files: FileDescriptorProto[] = [];
  readonly #names = new Set<string>();
  readonly #symbols = new Map<string, FileSymbol>();
  /** The two files of each symbol with two different definitions. */
  readonly #twice = new Map<string, readonly [string, string]>();
  readonly #asked = new Set<string>();
  /** The hashes of the files as they came. */
  readonly #hashes = new Set<string>();
  /** Whether the last answer had a file that cannot be read. */
  #unreadable = false;
  #bytes = 0;

  constructor(stream: ReflectionStream, slices: TimeSlices) {
    this.#stream = stream;
    this.#slices = slices;
  }

  /** Fetches the file of a service, unless it is already there. @returns why there is no such file; undefined if there is */
  async takeService(name: string): Promise<string | undefined> {
    await this.takeSymbol(name);
    if (this.#symbols.get(name)?.kind === 'service') return undefined;
    return `the server lists it, but ${this.#unreadable ? 'its descriptor cannot be read' : 'has no descriptor of it'}`;
  }

  /** Fetches the file of a symbol, unless it is already there, if the server has it. */
  async takeSymbol(name: string): Promise<void> {
    if (this.#symbols.has(name)) return;
    await this.#take({ case: 'fileContainingSymbol', value: name });
    // The npm package `@grpc/reflection` writes the names of symbols without a package with a leading dot.
    if (!this.#symbols.has(name) && !name.includes('.'))
      await this.#take({ case: 'fileContainingSymbol', value: `.${name}` });
  }

  /**
   * Fetches the files of all types that the files use. Some servers send a file with all its imports, others send it
   * alone; some know an import under another name, or not at all, but know its types.
   */
  async fetchImports(): Promise<void> {
    let imported = 0;
    // The iteration includes those that are added during the loop.
    for (const file of this.#files) {
      // All imports first, which may have the types.
      while (imported < this.#files.length) {
        const added = this.#files.slice(imported);
        imported = this.#files.length;
        for (const name of added.flatMap(({ dependency }) => dependency))
          if (!this.#names.has(name)) await this.#take({ case: 'fileByFilename', value: name });
      }
      for await (const uses of this.#slices.of(typeUses(file)))
        for (const use of uses) if (symbolFor(use, this.#symbols) === undefined) await this.#takeType(use);
    }
  }

  /** The files, without what is not described whole. */
  async validSet(): Promise<FileSet> {
    const known = { files: this.#files, symbols: this.#symbols, twice: this.#twice };
    const { files, reasons } = await validFiles(known, this.#slices);
    const parts: Uint8Array[] = [];
    // Sets in a row are one set.
    for (const file of files) {
      parts.push(toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: [file] })));
      await this.#slices.pause();
    }
    return { descriptorSet: Buffer.concat(parts), whyLeftOut: reasons };
  }

  /** Fetches the file of a type from the server or, if it has none, from this package. */
  async #takeType(use: TypeUse): Promise<void> {
    const names = [...readings(use)];
    for (const name of names) {
      await this.takeSymbol(name);
      if (symbolFor(use, this.#symbols) !== undefined) return;
    }
    const own = names.map(ownFile).find((file) => file !== undefined);
    if (own !== undefined) this.#add(own);
  }

  /** Fetches the files that a request asks for. If the server does not have them, none are added. */
  async #take(question: FileQuestion): Promise<void> {
    const key = `${question.case} ${question.value}`;
    if (this.#asked.has(key)) return;
    this.#asked.add(key);
    this.#unreadable = false;
    const answer = await this.#stream.ask(question);
    if (answer.case !== 'fileDescriptorResponse') return;
    for (const bytes of answer.value.fileDescriptorProto) {
      const digest = hash('sha256', bytes, 'base64');
      if (this.#hashes.has(digest)) continue;
      this.#hashes.add(digest);
      this.#bytes += bytes.length;
      if (this.#bytes > MAX_SET_BYTES)
        throw new ReflectionError(status.RESOURCE_EXHAUSTED, 'The contract is larger than 64 MiB.');
      await this.#slices.pause();
      const file = readFile(bytes);
      if (file === undefined) this.#unreadable = true;
      else this.#add(file);
    }
  }

  /**
   * Adds what is new in a file. One without anything is left out: grpc-go may send an empty file in place of an import
   * that it lacks.
   */
  #add(file: FileDescriptorProto): void {
    removeExtensions(file.messageType);
    file.messageType = file.messageType.filter(this.#isNew(file, DescriptorProtoSchema));
    file.enumType = file.enumType.filter(this.#isNew(file, EnumDescriptorProtoSchema));
    file.service = file.service.filter(this.#isNew(file, ServiceDescriptorProtoSchema));
    const { messageType, enumType, service, extension, dependency } = file;
    if ([messageType, enumType, service, extension, dependency].every(({ length }) => length === 0)) return;
    // Two files may have the same name, such as `common.proto` in different directories.
    if (this.#names.has(file.name)) file.name = `${file.name}#${this.#files.length}`;
    this.#names.add(file.name);
    this.#files.push(file);
    for (const symbol of symbolsOf(file)) {
      const other = this.#symbols.get(symbol.name);
      if (other === undefined) this.#symbols.set(symbol.name, symbol);
      else this.#twice.set(symbol.name, [other.file.name, file.name]);
    }
  }

  /** Whether a definition is the first of its name. Notes if it differs from the first. */
  #isNew<Desc extends DescMessage>(file: FileDescriptorProto, schema: Desc) {
    return (proto: MessageShape<Desc> & { readonly name: string }): boolean => {
      const name = fullName(file.package, proto.name);
      const other = this.#symbols.get(name);
      if (other === undefined) return true;
      const same =
        other.proto.$typeName === proto.$typeName && equals<DescMessage>(schema, other.proto, proto);
      if (!same) this.#twice.set(name, [other.file.name, file.name]);
      return false;
    };
  }
}

/** @returns undefined if the bytes are not a file. */
function readFile(bytes: Uint8Array): FileDescriptorProto | undefined {
  try {
    return fromBinary(FileDescriptorProtoSchema, bytes);
  } catch {
    return undefined;
  }
}

const OWN = createRegistry(
  ...WELL_KNOWN,
  file_google_protobuf_api,
  file_google_protobuf_descriptor,
  file_google_protobuf_source_context,
  file_google_protobuf_type,
  file_google_api_http,
  file_google_rpc_code,
  file_google_rpc_error_details,
  file_google_rpc_status,
);

/** A copy of the well-known file with a message or enum that this package has itself; undefined if it has none. */
function ownFile(name: string): FileDescriptorProto | undefined {
  const type = OWN.getMessage(name) ?? OWN.getEnum(name);
  return type && clone(FileDescriptorProtoSchema, type.file.proto);
}
