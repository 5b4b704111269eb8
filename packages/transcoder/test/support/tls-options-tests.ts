import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { describe, expect, it } from 'vitest';
import type { tlsOptions as TlsOptionsOf } from '../../src/grpc-js.js';

const NAME_OPTION = 'grpc.ssl_target_name_override';

/** Tests the options of a package for TLS to an IP address. */
export function testTlsOptions(tlsOptions: typeof TlsOptionsOf): void {
  const certificateOf = (address: string): PeerCertificate =>
    ({ subjectaltname: `IP Address:${address}`, subject: {} }) as PeerCertificate;

  /** What the check of a certificate for an address answers, if the channel has the options for the target. */
  function mismatch(target: string, address: string): Error | undefined {
    const { verifyOptions, channelOptions } = tlsOptions(target);
    return verifyOptions.checkServerIdentity?.(channelOptions[NAME_OPTION] ?? '', certificateOf(address));
  }

  describe('TLS to an IP address', () => {
    it.each([
      ['10.0.0.5:50051', '10.0.0.5'],
      ['10.0.0.5', '10.0.0.5'],
      ['dns:10.0.0.5:50051', '10.0.0.5'],
      ['dns:///10.0.0.5:50051', '10.0.0.5'],
      ['dns://8.8.8.8/10.0.0.5:50051', '10.0.0.5'],
      ['ipv4:10.0.0.5:50051,10.0.0.6:50051', '10.0.0.5'],
      ['[2001:db8::5]:50051', '2001:db8::5'],
      ['[2001:db8::5]', '2001:db8::5'],
      ['2001:db8::5', '2001:db8::5'],
      ['ipv6:[2001:db8::5]:50051', '2001:db8::5'],
    ])('names a placeholder, and checks the certificate for the address: %s', (target, address) => {
      const { channelOptions } = tlsOptions(target);
      expect(channelOptions).toEqual({ [NAME_OPTION]: 'ip-address.invalid' });
      // Node's own check accepts it; that of Node 22.23.3 accepts no IPv6 address.
      expect(mismatch(target, address)?.message).toBe(
        checkServerIdentity(address, certificateOf(address))?.message,
      );
      expect(mismatch(target, '10.0.0.9')).toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    });

    it('checks the certificate for a name that the channel has of its own', () => {
      const certificate = { subjectaltname: 'DNS:routes.example', subject: {} } as PeerCertificate;
      const check = tlsOptions('10.0.0.5:50051').verifyOptions.checkServerIdentity;
      expect(check?.('routes.example', certificate)).toBeUndefined();
      expect(check?.('other.example', certificate)).toBeInstanceOf(Error);
    });
  });

  it.each(['routes:50051', 'dns:///routes.example:50051', 'unix:/run/10.0.0.5', '10.0.0.5.example:443', ''])(
    'TLS to a name needs no options: %j',
    (target) => {
      expect(tlsOptions(target)).toEqual({ verifyOptions: {}, channelOptions: {} });
    },
  );
}
