// Parses database URLs. Imports nothing, so that a server on SQLite loads no PostgreSQL code when it starts.

/** True if a URL names a PostgreSQL database. */
export function isPostgresUrl(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url);
}

/**
 * Returns the URL for display. Omits the password, and all parameters, because a parameter may contain the password.
 */
export function shownUrl(url: string): string {
  return url.replace(/^(\w+:\/\/[^@/]*?)(:[^@/]*)?@/, "$1@").replace(/\?.*$/, "");
}

/** Returns the paths of the TLS files in a URL's parameters. The driver reads these files when it parses the URL. */
export function filesInUrl(url: string): readonly string[] {
  if (!URL.canParse(url)) return [];
  const { searchParams } = new URL(url);
  return ["sslrootcert", "sslcert", "sslkey"].flatMap((name) => searchParams.get(name) ?? []);
}
