import { tlsOptions } from '../../src/grpc-js.js';
import { testTlsOptions } from '../support/tls-options-tests.js';

testTlsOptions(tlsOptions);
