import { resolve } from 'node:path';
import { it } from 'vitest';
import { byRule, expectGreetings, prepareGreeter } from './rig/greeter.js';
import { installNpmProject } from './rig/npm-project.js';
import { startReadmeCommand } from './rig/readme-command.js';

it('a server of nice-grpc is served by its HTTP rules, as its reflection describes it', async () => {
  const { folder, address, start } = await prepareGreeter();
  const program = await installNpmProject(
    folder,
    {
      '@grpc/grpc-js': '1.14.7',
      '@grpc/proto-loader': '0.8.1',
      'nice-grpc': '2.1.18',
      'nice-grpc-server-reflection': '3.0.3',
    },
    resolve(import.meta.dirname, 'programs/nice-grpc.mjs'),
  );
  await start(process.execPath, program);

  await expectGreetings(byRule(await startReadmeCommand('nice-grpc', address)));
});
