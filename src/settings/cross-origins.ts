import type { SettingsReader } from './settings.js';

/** Reads the origins in `CORS_ORIGINS`: scheme, host, and the port unless it is the scheme's default (RFC 6454 6.2). */
export function crossOriginsOf(settings: SettingsReader): readonly string[] {
  const origins = (settings.given('CORS_ORIGINS')?.split(',') ?? []).map((each) => each.trim());
  const wrong = origins.filter((each) => !isOrigin(each));
  if (wrong.length > 0) {
    settings.refuseValue(
      'CORS_ORIGINS',
      wrong.join(','),
      'must be exact origins as browsers send them, without a path and without a final slash, such as https://app.example.com,http://localhost:3000',
    );
  }
  return origins;
}

function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}
