import { readFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { installPacked } from '../../packages/transcoder/test/support/packed-package.js';
import { needs, programPath } from '../support/needs.js';
import { create, metadataOf, routeTo, startService, tokenFor } from '../support/service.js';

it(
  "grpcurl reads the packed client's descriptor set with the command from its README",
  needs('grpcurl'),
  async () => {
    const [service, user] = await Promise.all([
      startService({ databaseUrl: 'sqlite::memory:' }),
      installPacked(resolve('packages/client'), []),
    ]);
    onTestFinished(async () => {
      await Promise.all([service.close(), user.remove()]);
    });
    const token = tokenFor();
    const request = { route: routeTo('packed'), requestId: '', validateOnly: false };
    const { route } = await create(service.client, request, metadataOf(token));
    const readme = readFileSync(join(user.installed, 'README.md'), 'utf8');
    const [, contract = ''] = /^(contract=.*)$/m.exec(readme) ?? [];
    const [, command = ''] = /^(grpcurl [^`]*?)\n```/m.exec(readme) ?? [];
    const script = `${contract}\n${command}`
      .replaceAll('127.0.0.1:50051', service.grpcAddress)
      .replaceAll('PUT-THE-ID-HERE', route?.id ?? '');
    const PATH = [dirname(programPath('grpcurl')), process.env['PATH']].join(delimiter);
    const printed = await user.run('sh', ['-euc', script], { PATH, TOKEN: token });
    expect(JSON.parse(printed)).toMatchObject({ id: route?.id, handler: 'packed' });
  },
);
