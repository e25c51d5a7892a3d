// URLs of databases, as text: needs nothing, so that a start on SQLite loads nothing of PostgreSQL.

/** Whether a URL names a PostgreSQL database. */
export function isPostgresUrl(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url);
}

/** The URL for people, without the password, and without parameters, among which it may be. */
export function shownUrl(url: string): string {
  return url.replace(/^(\w+:\/\/[^@/]*?)(:[^@/]*)?@/, "$1@").replace(/\?.*$/, "");
}

/** The files that a URL names for TLS, which the driver reads at once. */
export function filesInUrl(url: string): readonly string[] {
  if (!URL.canParse(url)) return [];
  const { searchParams } = new URL(url);
  return ["sslrootcert", "sslcert", "sslkey"].flatMap((name) => searchParams.get(name) ?? []);
}
