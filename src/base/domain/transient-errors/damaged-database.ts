// Recognizes errors of SQLite and PostgreSQL that report damaged database files. Pure: it only looks at errors.
import { ServiceError } from "../service-error.ts";

/**
 * Error codes for damaged files: two codes of SQLite, one with extended codes, and PostgreSQL's `data_corrupted`
 * (XX001) and `index_corrupted` (XX002).
 */
const codes = /^(SQLITE_CORRUPT(_\w+)?|SQLITE_NOTADB|XX001|XX002)$/;

/** Instruction for operators whose database is damaged. */
export const damageCure =
  "Stop the server, keep a copy of the data folder as it is, and restore the newest backup (`hone restore`).";

/** Returns an error for callers if this error, or a cause of it, reports a damaged database; otherwise null. */
export function damagedDatabaseError(error: unknown, name: string): ServiceError | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (!("code" in cause) || !codes.test(String(cause.code))) continue;
    const message = `The database ${name} is damaged: ${cause.message}. \`hone doctor\` lists what is wrong. ${damageCure}`;
    return new ServiceError({ code: "internal", message, cause: error });
  }
  return null;
}
