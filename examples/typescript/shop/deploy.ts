/** Registers the routes of the shop and writes their ids to the manifest. Its token needs the scope `routes:write`. */
import { writeFile } from 'node:fs/promises';
import { RouteClientError } from '@route-registry/client';
import { keyOf, MANIFEST, openRegistry, TIMEOUT_MS } from './registry.js';
import { ROUTES } from './routes.js';

const registry = openRegistry();
try {
  const created = await Promise.all(
    ROUTES.map((definition) =>
      registry.createRouteOnce(definition, { idempotencyKey: keyOf(definition), timeoutMs: TIMEOUT_MS }),
    ),
  );
  await writeFile(
    MANIFEST,
    `${JSON.stringify(
      created.map(({ route }) => route.id),
      undefined,
      2,
    )}\n`,
  );
  const repeated = created.filter(({ replayed }) => replayed).length;
  console.log(`${created.length} routes: ${created.length - repeated} new, ${repeated} as before.`);
} catch (error) {
  if (!(error instanceof RouteClientError)) throw error;
  console.error(`The routes cannot be registered: ${error.status}: ${error.message}`);
  for (const { field, description } of error.fieldViolations) console.error(`  ${field}: ${description}`);
  process.exitCode = 1;
} finally {
  registry.close();
}
