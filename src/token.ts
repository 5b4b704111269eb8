import { signToken } from './run/sign-token.js';

process.exitCode = signToken(process.argv.slice(2), process.env, process);
