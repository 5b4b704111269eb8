/*
 * Certificates of a CA, a server on loopback and a client. They are valid from 22 November 2026 to 2126, so tests with
 * them need a clock that is not behind. Their keys are public on purpose: they protect nothing. In bash:
 *
 *     new='openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
 *     $new -x509 -days 36500 -subj '/CN=Tests of the client' -keyout ca.key -out ca.pem
 *     for name in server client; do
 *       $new -subj "/CN=$name" -keyout $name.key -out $name.csr
 *       openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -days 36500 -out $name.pem \
 *         -extfile <(echo 'subjectAltName=DNS:localhost,IP:127.0.0.1')
 *     done
 *
 * Each constant is a file without its first and last line, and without line breaks.
 */

const CA =
  'MIIBkjCCATmgAwIBAgIUG6CIydOrcAFgBKsi1hFyvovw75swCgYIKoZIzj0EAwIwHjEcMBoGA1UEAwwTVGVzdHMgb2YgdGhlIGNsaWVudDAgFw0yNjExMjIwNzMyNTlaGA8yMTI2MTAyOTA3MzI1OVowHjEcMBoGA1UEAwwTVGVzdHMgb2YgdGhlIGNsaWVudDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABFf4Ioj28gvbhqEZae1xa1rW8CVMVqQEWFH8tlNmcnBFfWeDfVW97gwi2UA9aPrvpCjwtXgYzzHnMOXy5rsM4b2jUzBRMB0GA1UdDgQWBBTleoqN+b1pmM4X5dhcbR1EZs/yUDAfBgNVHSMEGDAWgBTleoqN+b1pmM4X5dhcbR1EZs/yUDAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0cAMEQCIBIwRz4GX+Osw2CDRzeKODxJemxgEFnnVe+9TQAxs4pQAiBOUt48n1PWSS+lZnz9OfTSammDdEjqhTJjhqAEmh5pLg==';
const SERVER =
  'MIIBkTCCATegAwIBAgIUFrmDD7+8Dar7eTyl8nUY+qniXPEwCgYIKoZIzj0EAwIwHjEcMBoGA1UEAwwTVGVzdHMgb2YgdGhlIGNsaWVudDAgFw0yNjExMjIwNzMyNTlaGA8yMTI2MTAyOTA3MzI1OVowETEPMA0GA1UEAwwGc2VydmVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEx+pd5q8CdNgCyeg6CdIlFhtb8VasAEtB0EObQOohJaYhKLerFqlWOWc6+cOJW3v0YnVuayv3JXFPnRlBA1o7IqNeMFwwGgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMB0GA1UdDgQWBBQCte5Rjr6te+0M68b79g4+Z8Xa+zAfBgNVHSMEGDAWgBTleoqN+b1pmM4X5dhcbR1EZs/yUDAKBggqhkjOPQQDAgNIADBFAiEA1rm87K2eICPmkbmM0pLHehwYXyop0kFYuWJjFS0SN04CIFsmMe1PYsEeHcJo2KDEz4Y4iHJb4TGiFQNnd/lk1iLW';
const SERVER_KEY =
  'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg8RhBPDdUA4VTjERDFnwb9tNmFDHSE+zfpEuZ3EuDe9GhRANCAATH6l3mrwJ02ALJ6DoJ0iUWG1vxVqwAS0HQQ5tA6iElpiEot6sWqVY5Zzr5w4lbe/RidW5rK/clcU+dGUEDWjsi';
const CLIENT =
  'MIIBkDCCATegAwIBAgIUFrmDD7+8Dar7eTyl8nUY+qniXPIwCgYIKoZIzj0EAwIwHjEcMBoGA1UEAwwTVGVzdHMgb2YgdGhlIGNsaWVudDAgFw0yNjExMjIwNzMyNTlaGA8yMTI2MTAyOTA3MzI1OVowETEPMA0GA1UEAwwGY2xpZW50MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEKXGCnB0v/Z3kNe8Wf3p8EGhbuncpM3s+++5ubLnWAjeBYuRi3inObIN5Uq9R2Zo8j7bsorxqyjAFU+QtFX+tFKNeMFwwGgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMB0GA1UdDgQWBBRUGR+pd0P3qp3OIBHshioxCu1aTjAfBgNVHSMEGDAWgBTleoqN+b1pmM4X5dhcbR1EZs/yUDAKBggqhkjOPQQDAgNHADBEAiAye+kun0Wchab4MjHNq5Za35U1joUJoBLgPh22Q3ozbQIgV9zOnCrLqVfDlq61WHP8pSy2WHoYnVhQKIJwEi9zHKw=';
const CLIENT_KEY =
  'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgY8mAhUSw8Qv/3Olr+yknqtrG4ky7ZJZiAYaaaxQOnnqhRANCAAQpcYKcHS/9neQ17xZ/enwQaFu6dykzez777m5sudYCN4Fi5GLeKc5sg3lSr1HZmjyPtuyivGrKMAVT5C0Vf60U';

/** Certificates for tests, with their keys, as PEM. */
export const certificates = {
  ca: { cert: pem('CERTIFICATE', CA) },
  server: { cert: pem('CERTIFICATE', SERVER), key: pem('PRIVATE KEY', SERVER_KEY) },
  client: { cert: pem('CERTIFICATE', CLIENT), key: pem('PRIVATE KEY', CLIENT_KEY) },
};

function pem(kind: string, base64: string): Buffer {
  const lines = base64.replace(/.{64}/g, '$&\n');
  return Buffer.from(`-----BEGIN ${kind}-----\n${lines}\n-----END ${kind}-----`);
}
