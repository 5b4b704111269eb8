/** A request to etcd's HTTP gateway. */
export interface EtcdRequest {
  /** The path under `/v3`. */
  readonly path: string;
  /** A JSON value, or a text that is sent as it is. Default: no body. */
  readonly body?: object | string;
  /** Default: POST. */
  readonly method?: string;
  /** Besides `Content-Type: application/json`. An empty value leaves the header out. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The header that carries the token of the last user who has authenticated. Default: none. */
  readonly token?: 'Authorization' | 'Grpc-Metadata-Token';
  /** Whether etcd's gateway would answer until its client leaves. Default: false. */
  readonly endless?: true;
  /** Why the command answers otherwise than etcd's gateway. Default: it answers alike. */
  readonly differs?: string;
}

const b = (text: string): string => Buffer.from(text).toString('base64');

const STREAM = 'a stream of requests';
const PRECONDITION = 'FAILED_PRECONDITION is 412 in grpc-gateway 1, and 400 since (code.proto)';
const TAKEN = 'a form of ProtoJSON that grpc-gateway 1 does not take';
const AMBIGUOUS = 'what grpc-gateway reads otherwise than it was sent';

/** The requests, in their order: later ones see what earlier ones have done. */
export const ETCD_REQUESTS: readonly EtcdRequest[] = [
  // Keys and values.
  { path: '/kv/range', body: { key: b('none') } },
  { path: '/kv/put', body: { key: b('a'), value: b('1') } },
  { path: '/kv/put', body: { key: b('a'), value: b('2'), prev_kv: true } },
  { path: '/kv/put', body: { key: b('a'), value: b('3'), prevKv: true } },
  { path: '/kv/put', body: { key: b('a'), ignore_value: true, prev_kv: true } },
  { path: '/kv/put', body: { key: b('a'), value: b('x'), ignore_value: true } },
  { path: '/kv/put', body: { key: b('none'), ignore_value: true } },
  { path: '/kv/put', body: { key: b('b'), value: '' } },
  { path: '/kv/put', body: { key: b('c'), value: b('\u0000ü😀') } },
  { path: '/kv/put', body: { key: b('d'), value: b('x'.repeat(30_000)) } },
  { path: '/kv/put', body: {} },
  { path: '/kv/put', body: { key: b('e'), value: b('1'), lease: '77' } },
  { path: '/kv/range', body: { key: b('a') } },
  { path: '/kv/range', body: { key: b('a'), range_end: b('d') } },
  { path: '/kv/range', body: { key: b('a'), range_end: b('d'), count_only: true } },
  { path: '/kv/range', body: { key: b('a'), range_end: b('d'), keys_only: true, limit: 2 } },
  { path: '/kv/range', body: { key: b('a'), range_end: b('d'), sort_order: 'DESCEND', sort_target: 'KEY' } },
  { path: '/kv/range', body: { key: b('a'), range_end: b('d'), sort_order: 2, sort_target: 3 } },
  {
    path: '/kv/range',
    body: { key: b('a'), range_end: b('d'), sort_order: 'SIDEWAYS' },
    differs: 'an unknown enum value is an unknown field',
  },
  { path: '/kv/range', body: { key: b('a'), range_end: b('d'), limit: '1' } },
  { path: '/kv/range', body: { key: b('a'), revision: 2 } },
  { path: '/kv/range', body: { key: b('a'), revision: '999999' } },
  { path: '/kv/range', body: { key: b('a'), serializable: true, min_mod_revision: 3 } },
  { path: '/kv/range', body: { key: b('\u0000'), range_end: b('\u0000'), keys_only: true } },
  { path: '/kv/range', body: {} },
  { path: '/kv/range', body: { key: b('a'), range_end: b('d'), max_mod_revision: '5' } },
  { path: '/kv/range', body: { key: b('a'), range_end: b('d'), min_create_revision: 6, limit: '1' } },
  { path: '/kv/range', body: { key: b('a'), rangeEnd: b('d'), sortOrder: 'ASCEND', sortTarget: 'VALUE' } },
  { path: '/kv/put', body: { key: b('dir/1'), value: b('1') } },
  { path: '/kv/put', body: { key: b('dir/2'), value: b('2') } },
  { path: '/kv/range', body: { key: b('dir/'), range_end: b('dir0') } },
  { path: '/kv/deleterange', body: { key: b('dir/'), range_end: b('dir0'), prevKv: true } },
  { path: '/kv/deleterange', body: { key: b('b'), prev_kv: true } },
  { path: '/kv/deleterange', body: { key: b('b') } },
  { path: '/kv/deleterange', body: {} },
  {
    path: '/kv/txn',
    body: {
      compare: [{ key: b('a'), target: 'VERSION', result: 'GREATER', version: '1' }],
      success: [{ request_put: { key: b('a'), value: b('4') } }, { request_range: { key: b('a') } }],
      failure: [{ request_delete_range: { key: b('a') } }],
    },
  },
  {
    path: '/kv/txn',
    body: {
      compare: [{ key: b('a'), target: 'VALUE', value: b('no') }],
      success: [],
      failure: [{ requestRange: { key: b('c') } }],
    },
  },
  {
    path: '/kv/txn',
    body: {
      compare: [{ key: b('new'), target: 'CREATE', create_revision: 0 }],
      success: [{ request_put: { key: b('new'), value: b('1') } }],
      failure: [{ request_range: { key: b('new') } }],
    },
  },
  {
    path: '/kv/txn',
    body: {
      compare: [{ key: b('new'), target: 'MOD', result: 'LESS', mod_revision: '2' }],
      success: [],
      failure: [{ request_delete_range: { key: b('new'), prev_kv: true } }],
    },
  },
  { path: '/kv/txn', body: { compare: [{ key: b('a'), target: 'LEASE', lease: '0' }] } },
  { path: '/kv/txn', body: {} },
  {
    path: '/kv/txn',
    body: {
      success: [
        { request_put: { key: b('a'), value: b('1') } },
        { request_put: { key: b('a'), value: b('2') } },
      ],
    },
  },
  {
    path: '/kv/txn',
    body: { success: [{ request_txn: { success: [{ request_range: { key: b('a') } }] } }] },
  },
  { path: '/kv/compaction', body: { revision: '4' } },
  { path: '/kv/compaction', body: { revision: '4' } },
  { path: '/kv/compaction', body: { revision: '9999' } },
  { path: '/kv/range', body: { key: b('a'), revision: '2' } },

  // JSON in other forms.
  { path: '/kv/range', body: '' },
  { path: '/kv/range', body: '{"key":"YQ==","unknown":{"deep":[1]}}' },
  { path: '/kv/range', body: '{"key":"YQ"}', differs: TAKEN },
  { path: '/kv/range', body: '{"key":"_-8="}', differs: TAKEN },
  { path: '/kv/range', body: '{"key":"/+8="}' },
  { path: '/kv/range', body: '{"key":"?"}' },
  { path: '/kv/range', body: '{"key":5}' },
  { path: '/kv/range', body: '{"key":null,"limit":null}' },
  { path: '/kv/range', body: '{"key":"YQ==","limit":"1.5"}' },
  { path: '/kv/range', body: '{"key":"YQ==","limit":1.0}', differs: TAKEN },
  { path: '/kv/range', body: '{"key":"YQ==","limit":"x"}' },
  { path: '/kv/range', body: '{"key":"YQ==","limit":9223372036854775808}' },
  { path: '/kv/range', body: '{"key":"YQ==","limit":-1}' },
  { path: '/kv/range', body: '{"key":"YQ==","count_only":"true"}' },
  { path: '/kv/range', body: '{"key":"YQ==","count_only":1}' },
  { path: '/kv/range', body: '{"key":"YQ=="' },
  { path: '/kv/range', body: 'key=YQ==' },
  { path: '/kv/range', body: '[]' },
  { path: '/kv/range', body: 'null', differs: 'null is no message' },
  { path: '/kv/range', body: '"YQ=="' },
  { path: '/kv/range', body: ' \n{ "key" : "YQ==" }\n ' },
  { path: '/kv/range', body: '{"key":"YQ=="} tail', differs: AMBIGUOUS },
  { path: '/kv/range', body: '{"key":"YQ==","key":"Yw=="}', differs: AMBIGUOUS },
  { path: '/kv/range', body: { key: b('a') }, headers: { 'Content-Type': '' } },
  {
    path: '/kv/range',
    body: { key: b('a') },
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  },
  {
    path: '/kv/range',
    body: { key: b('a') },
    headers: { 'Content-Type': 'text/plain' },
    differs: 'no content type of JSON (RFC 9110)',
  },
  {
    path: '/kv/range?limit=1',
    body: { key: b('a') },
    differs: 'a field of the body, in the query',
  },
  { path: '/kv/range?unknown=1', body: { key: b('a') } },

  // HTTP.
  { path: '/kv/range', method: 'GET' },
  { path: '/kv/range', method: 'PUT', body: { key: b('a') } },
  { path: '/kv/range', method: 'OPTIONS', differs: '204 with Allow (RFC 9110), and no CORS' },
  { path: '/kv/range/', body: { key: b('a') } },
  { path: '/kv/unknown', body: {} },
  { path: '/unknown', method: 'GET' },
  { path: '/kv/range', body: { key: b('a') }, headers: { 'Grpc-Timeout': '5S' } },
  { path: '/kv/range', body: { key: b('a') }, headers: { 'Grpc-Timeout': '1n' } },

  // Leases.
  { path: '/lease/grant', body: { ID: '77', TTL: '3600' } },
  { path: '/lease/grant', body: { ID: 77, TTL: 3600 }, differs: PRECONDITION },
  { path: '/lease/grant', body: { ID: '90', TTL: '0' } },
  { path: '/lease/grant', body: { ID: '78', TTL: '99999999999' } },
  { path: '/kv/put', body: { key: b('leased'), value: b('1'), lease: '77' } },
  { path: '/lease/leases', body: {} },
  { path: '/kv/lease/leases', body: {} },
  { path: '/lease/timetolive', body: { ID: '77', keys: true } },
  { path: '/lease/timetolive', body: { ID: '79' } },
  { path: '/kv/lease/timetolive', body: { ID: '77' } },
  { path: '/lease/keepalive', body: { ID: '77' }, differs: STREAM },
  { path: '/lease/revoke', body: { ID: '77' } },
  { path: '/lease/revoke', body: { ID: '77' } },
  { path: '/kv/lease/revoke', body: { ID: '80' } },
  { path: '/kv/range', body: { key: b('leased') } },

  // Watches.
  {
    path: '/watch',
    body: { create_request: { key: b('a'), start_revision: '5' } },
    endless: true,
    differs: STREAM,
  },

  // The cluster.
  { path: '/cluster/member/list', body: {} },
  { path: '/cluster/member/add', body: { peerURLs: ['not a URL'] } },
  { path: '/cluster/member/remove', body: { ID: '1' } },
  { path: '/cluster/member/update', body: { ID: '1', peerURLs: ['http://127.0.0.1:1'] } },
  { path: '/cluster/member/promote', body: { ID: '1' } },

  // Maintenance.
  { path: '/maintenance/status', body: {} },
  { path: '/maintenance/alarm', body: { action: 'GET', alarm: 'NONE' } },
  { path: '/maintenance/alarm', body: { action: 'ACTIVATE', memberID: '1', alarm: 'NOSPACE' } },
  { path: '/kv/put', body: { key: b('a'), value: b('5') } },
  { path: '/maintenance/alarm', body: { action: 'DEACTIVATE', memberID: '1', alarm: 'NOSPACE' } },
  { path: '/maintenance/defragment', body: {} },
  { path: '/maintenance/hash', body: {} },
  { path: '/maintenance/snapshot', body: {} },
  { path: '/maintenance/transfer-leadership', body: { targetID: '1' }, differs: PRECONDITION },

  // Users and roles.
  { path: '/auth/user/add', body: { name: 'root', password: 'secret' } },
  { path: '/auth/user/add', body: { name: 'root', password: 'secret' }, differs: PRECONDITION },
  { path: '/auth/user/add', body: { name: '', password: 'secret' } },
  { path: '/auth/user/add', body: { name: 'reader', password: 'read' } },
  { path: '/auth/user/get', body: { name: 'root' } },
  { path: '/auth/user/get', body: { name: 'nobody' }, differs: PRECONDITION },
  { path: '/auth/role/add', body: { name: 'root' } },
  { path: '/auth/role/add', body: { name: 'readers' } },
  {
    path: '/auth/role/grant',
    body: { name: 'readers', perm: { permType: 'READ', key: b('a'), range_end: b('c') } },
  },
  { path: '/auth/role/get', body: { role: 'readers' } },
  { path: '/auth/role/list', body: {} },
  { path: '/auth/user/grant', body: { user: 'root', role: 'root' } },
  { path: '/auth/user/grant', body: { user: 'reader', role: 'readers' } },
  { path: '/auth/user/list', body: {} },
  { path: '/auth/user/changepw', body: { name: 'reader', password: 'other' } },
  { path: '/auth/authenticate', body: { name: 'root', password: 'secret' }, differs: PRECONDITION },
  { path: '/auth/enable', body: {} },
  { path: '/kv/range', body: { key: b('a') } },
  { path: '/auth/authenticate', body: { name: 'reader', password: 'wrong' } },
  { path: '/auth/authenticate', body: { name: 'reader', password: 'other' } },
  { path: '/kv/range', body: { key: b('a') }, token: 'Authorization' },
  { path: '/kv/put', body: { key: b('a'), value: b('6') }, token: 'Authorization' },
  { path: '/auth/user/list', body: {}, token: 'Grpc-Metadata-Token' },
  { path: '/kv/range', body: { key: b('a') }, headers: { Authorization: 'made up' } },
  { path: '/auth/authenticate', body: { name: 'root', password: 'secret' } },
  {
    path: '/auth/role/revoke',
    body: { role: 'readers', key: b('a'), range_end: b('c') },
    token: 'Authorization',
  },
  { path: '/auth/user/revoke', body: { name: 'reader', role: 'readers' }, token: 'Authorization' },
  { path: '/auth/user/delete', body: { name: 'reader' }, token: 'Grpc-Metadata-Token' },
  { path: '/auth/role/delete', body: { role: 'readers' }, token: 'Authorization' },
  { path: '/auth/disable', body: {}, token: 'Authorization' },
  { path: '/auth/disable', body: {} },
];
