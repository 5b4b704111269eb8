import type { Row } from '../row.js';
import { bodies } from './bodies.js';
import { errors } from './errors.js';
import { headers } from './headers.js';
import { maps } from './maps.js';
import { masks } from './masks.js';
import { paths } from './paths.js';
import { queries } from './queries.js';
import { types } from './types.js';
import { verbs } from './verbs.js';

/** Every request that is compared, by topic. */
export const ROWS: Readonly<Record<string, readonly Row[]>> = {
  verbs,
  paths,
  'query parameters': queries,
  'query parameters of maps': maps,
  bodies,
  'content types': types,
  masks,
  failures: errors,
  headers,
};
