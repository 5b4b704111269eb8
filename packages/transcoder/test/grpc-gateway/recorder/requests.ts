/** Prints the requests for record.sh. */
import { ROWS } from '../rows/index.js';

for (const { request } of Object.values(ROWS).flat()) process.stdout.write(`${JSON.stringify(request)}\n`);
