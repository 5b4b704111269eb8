import { testTlsOptions } from '../../transcoder/test/support/tls-options-tests.js';
import { tlsOptions } from '../src/tls-options.js';

testTlsOptions(tlsOptions);
