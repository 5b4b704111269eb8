import { resolve } from 'node:path';
import { it } from 'vitest';
import { byName, expectGreetings, prepareGreeter } from './rig/greeter.js';
import { installNpmProject } from './rig/npm-project.js';
import { startReadmeCommand } from './rig/readme-command.js';

it('a server of NestJS is served by the names of its methods, since its reflection has no HTTP rules', async () => {
  const { folder, address, start } = await prepareGreeter();
  const program = await installNpmProject(
    folder,
    {
      '@grpc/grpc-js': '1.14.7',
      '@grpc/proto-loader': '0.8.1',
      '@grpc/reflection': '1.0.4',
      '@nestjs/common': '11.2.10',
      '@nestjs/core': '11.2.10',
      '@nestjs/microservices': '11.2.6',
      'reflect-metadata': '0.2.2',
      rxjs: '7.8.2',
    },
    resolve(import.meta.dirname, 'programs/nestjs.mjs'),
  );
  await start(process.execPath, program);
  await expectGreetings(byName(await startReadmeCommand('NestJS', address)));
});
