import { expect, it } from 'vitest';
import { post, requestOf } from '../support/requests.js';
import { errorInfoOf, richErrorOfCall, richErrorOfResponse } from '../support/rich-error.js';
import { runningService } from '../support/running-service.js';
import { create, get, metadataOf, tokenFor } from '../support/service.js';

it('scopes have the names and places of the settings, over both protocols, and a refusal names one', async () => {
  const names = { JWT_READ_SCOPE: 'reader', JWT_WRITE_SCOPE: 'writer', JWT_SCOPE_CLAIMS: '/in/roles' };
  const service = await runningService({ settings: names });
  const as = (role: string): string => tokenFor({ in: { roles: [role] } });
  const { route } = await create(service.client, requestOf(), metadataOf(as('writer')));
  expect((await get(service.client, route?.id ?? '', metadataOf(as('reader')))).route).toEqual(route);
  const refused = await create(service.client, requestOf(), metadataOf(as('reader')));
  const expected = { reason: 'SCOPE_MISSING', metadata: { scope: 'writer' } };
  expect(errorInfoOf(richErrorOfCall(refused))).toMatchObject(expected);
  const response = await post(service, undefined, { authorization: `Bearer ${as('reader')}` });
  expect(response.headers.get('www-authenticate')).toContain('scope="writer"');
  expect(errorInfoOf(await richErrorOfResponse(response))).toMatchObject(expected);
});

it('a get without its scope is refused in the same words, whether the route exists or not', async () => {
  const service = await runningService();
  const { route } = await create(service.client, requestOf(), metadataOf(tokenFor()));
  const asWriter = metadataOf(tokenFor({ scope: 'routes:write' }), { 'x-request-id': 'the-same' });
  const ofStored = richErrorOfCall(await get(service.client, route?.id ?? '', asWriter));
  const ofUnknown = richErrorOfCall(await get(service.client, 'unknown', asWriter));
  expect(errorInfoOf(ofStored)).toMatchObject({ reason: 'SCOPE_MISSING' });
  expect(ofStored).toEqual(ofUnknown);
});
