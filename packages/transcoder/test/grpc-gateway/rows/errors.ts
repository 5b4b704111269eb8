import { get, send } from '../request.js';
import { alike, differ, type Row } from '../row.js';

export const errors: readonly Row[] = [
  ...alike(
    get('/v1/failures/0?text=because'),
    get('/v1/failures/1?text=because'),
    get('/v1/failures/2?text=because'),
    get('/v1/failures/3?text=because'),
    get('/v1/failures/4?text=because'),
    get('/v1/failures/5?text=because'),
    get('/v1/failures/6?text=because'),
    get('/v1/failures/7?text=because'),
    get('/v1/failures/8?text=because'),
    get('/v1/failures/9?text=because'),
    get('/v1/failures/10?text=because'),
    get('/v1/failures/11?text=because'),
    get('/v1/failures/12?text=because'),
    get('/v1/failures/13?text=because'),
    get('/v1/failures/14?text=because'),
    get('/v1/failures/15?text=because'),
    get('/v1/failures/16?text=because'),
    get('/v1/failures/17?text=because'),
    get('/v1/failures/5'),
    get('/v1/failures/5?text=%C3%A9%25'),
    get('/v1/failures/3?text=a&described=true'),
    get('/v1/failures/14?text=a&described=true'),
    get('/v1/failures/a'),
  ),
  ...differ('head', send('HEAD', '/v1/failures/5')),
];
