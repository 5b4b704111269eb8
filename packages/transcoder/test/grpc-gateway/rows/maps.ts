import { alike, alikeIfLenient, get, type Row } from '../row.js';

export const maps: readonly Row[] = [
  ...alikeIfLenient(
    'mapEntry',
    get('/v1/echo?string_map[a]=b'),
    get('/v1/echo?string_map%5Ba%5D=b'),
    get('/v1/echo?string_map[a]=b&string_map[c]=d'),
    get('/v1/echo?string_map[]=b'),
    get('/v1/echo?string_map[a.b]=c'),
    get('/v1/echo?string_map[a%5D]=c'),
    get('/v1/echo?string_map[a]'),
    get('/v1/echo?bool_map[1]=true'),
    get('/v1/echo?bool_map[-1]=false'),
    get('/v1/echo?genre_map[a]=GENRE_PROSE'),
    get('/v1/echo?genre_map[a]=2'),
    get('/v1/echo?time_map[a]=2026-01-02T03:04:05Z'),
    get('/v1/echo?nested.string_map[a]=b'),
    get('/v1/echo?stringMap[a]=b'),
    get('/v1/echo?string_map[__proto__]=a'),
  ),
  ...alike(
    get('/v1/echo?string_map[a]=b&string_map[a]=c'),
    get('/v1/echo?string_map=a'),
    get('/v1/echo?string_map.a=b'),
    get('/v1/echo?bool_map[x]=true'),
    get('/v1/echo?bool_map[1]=maybe'),
    get('/v1/echo?genre_map[a]=PROSE'),
    get('/v1/echo?nested_map[a]=b'),
    get('/v1/echo?int32_value[a]=1'),
  ),
  ...alikeIfLenient(
    'unknownParameter',
    get('/v1/echo?nested_map[a].int32_value=1'),
    get('/v1/echo?nothing[a]=1'),
  ),
];
