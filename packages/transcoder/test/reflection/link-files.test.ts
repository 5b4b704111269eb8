import { create } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { expect, it } from 'vitest';
import { linkFiles } from '../../src/reflection/link-files.js';

it('a file without a package gets the imports, full names and JSON names of its field types', () => {
  const used = create(FileDescriptorProtoSchema, { name: 'used.proto', messageType: [{ name: 'Used' }] });
  const user = create(FileDescriptorProtoSchema, {
    name: 'user.proto',
    messageType: [{ name: 'User', field: [{ name: 'last_used', typeName: 'Used' }] }],
  });
  linkFiles([used, user]);
  expect(user).toMatchObject({
    dependency: ['used.proto'],
    messageType: [{ field: [{ typeName: '.Used', jsonName: 'lastUsed' }] }],
  });
  expect(used.dependency).toEqual([]);
});
