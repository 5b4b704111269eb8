import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { clearField, fromBinary, getExtension, hasExtension } from '@bufbuild/protobuf';
import { type FileDescriptorProto, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { npmPackages } from '../../../test/support/npm-packages.js';
import { http } from '../src/gen/google/api/annotations_pb.js';

/** The contract of one proto package. */
export interface Contract {
  readonly name: string;
  /** The methods that have HTTP rules, each by the path of its gRPC call, and how many. */
  readonly methods: readonly {
    readonly service: string;
    readonly callPath: string;
    readonly rules: number;
  }[];
  /** The files of the package with their imports, as buf marks and encodes them, with comments. */
  readonly image: () => Uint8Array;
}

const require = createRequire(import.meta.url);
const root = resolve(import.meta.dirname, '../../..');
const google = await npmPackages({ 'google-proto-files': '5.0.3' });
const published = relative(root, join(google, 'google-proto-files'));
// Without the tests of protobuf itself; the well-known types come with buf.
const workspace = {
  version: 'v2',
  modules: [{ path: published, excludes: [`${published}/google/protobuf`] }],
};

/** A file, and its bytes with comments. */
interface File {
  readonly proto: FileDescriptorProto;
  readonly bytes: Uint8Array;
}

/** The contracts of all packages of google-proto-files that have HTTP rules. */
export function googleContracts(): Contract[] {
  const buf = join(dirname(require.resolve('@bufbuild/buf/package.json')), 'bin/buf');
  const args = ['build', '.', '--config', JSON.stringify(workspace), '-o', '-'];
  const reader = new BinaryReader(execFileSync(buf, args, { cwd: root, maxBuffer: 1 << 28 }));
  const files = new Map<string, File>();
  const packages = new Map<string, Contract['methods']>();
  while (reader.pos < reader.len) {
    reader.tag();
    const bytes = reader.bytes();
    const proto = fromBinary(FileDescriptorProtoSchema, bytes);
    clearField(proto, FileDescriptorProtoSchema.field.sourceCodeInfo);
    files.set(proto.name, { proto, bytes });
    packages.set(proto.package, [...(packages.get(proto.package) ?? []), ...methodsOf(proto)]);
  }
  return [...packages]
    .filter(([, methods]) => methods.length > 0)
    .map(([name, methods]) => ({ name, methods, image: () => imageOf(name, files) }));
}

function methodsOf(file: FileDescriptorProto): Contract['methods'] {
  return file.service.flatMap((service) =>
    service.method.flatMap(({ name, options }) => {
      if (options === undefined || !hasExtension(options, http)) return [];
      const fullName = `${file.package}.${service.name}`;
      const rules = 1 + getExtension(options, http).additionalBindings.length;
      return [{ service: fullName, callPath: `/${fullName}/${name}`, rules }];
    }),
  );
}

/** `buf_extension { is_import: true }` of a file. */
const IMPORT = new BinaryWriter().tag(8042, WireType.LengthDelimited).bytes(Buffer.of(8, 1)).finish();

function imageOf(packageName: string, files: ReadonlyMap<string, File>): Uint8Array {
  const image = new BinaryWriter();
  const seen = new Set<string>();
  const add = (name: string): void => {
    const file = files.get(name);
    if (file === undefined || seen.has(name)) return;
    seen.add(name);
    file.proto.dependency.forEach(add);
    const marks = file.proto.package === packageName ? [] : [IMPORT];
    image.tag(1, WireType.LengthDelimited).bytes(Buffer.concat([file.bytes, ...marks]));
  };
  for (const [name, { proto }] of files) if (proto.package === packageName) add(name);
  return image.finish();
}
