// Parsing of database URLs. Imports nothing, so that a start on SQLite loads no PostgreSQL code.

/** True if a URL names a PostgreSQL database. */
export function isPostgresUrl(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url);
}

/**
 * Returns the URL for display, without the password and without parameters, because a parameter may contain the
 * password.
 */
export function shownUrl(url: string): string {
  return url.replace(/^(\w+:\/\/[^@/]*?)(:[^@/]*)?@/, "$1@").replace(/\?.*$/, "");
}

/** Returns the TLS files that a URL refers to. The driver reads them when it parses the URL. */
export function filesInUrl(url: string): readonly string[] {
  if (!URL.canParse(url)) return [];
  const { searchParams } = new URL(url);
  return ["sslrootcert", "sslcert", "sslkey"].flatMap((name) => searchParams.get(name) ?? []);
}
