import { resolve } from 'node:path';
import { it } from 'vitest';
import { byRule, expectGreetings, prepareGreeter } from './rig/greeter.js';
import { installNpmProject } from './rig/npm-project.js';
import { startReadmeCommand } from './rig/readme-command.js';

it('a server of connect-node is served by its descriptor set, since it has no reflection', async () => {
  const { folder, address, set, start } = await prepareGreeter();
  const program = await installNpmProject(
    folder,
    { '@bufbuild/protobuf': '2.17.0', '@connectrpc/connect': '2.2.0', '@connectrpc/connect-node': '2.2.0' },
    resolve(import.meta.dirname, 'programs/connect-node.mjs'),
  );
  await start(process.execPath, program);
  await expectGreetings(byRule(await startReadmeCommand('connect-node', address, set)));
});
