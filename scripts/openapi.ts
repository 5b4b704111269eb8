// Prints the OpenAPI document, for generators of clients.
//   npm run --silent openapi > openapi.json
import { describeService } from '../src/openapi/document.js';

process.stdout.write(`${JSON.stringify(describeService(), null, 2)}\n`);
