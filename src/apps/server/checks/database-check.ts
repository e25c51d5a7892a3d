// The system check of the database: it answers, and no statement has met damage since the start.
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { Stores } from "../../../store/database/stores.ts";

/** @throws errors of reading; ServiceError `internal` for damage, without the file's path, since anyone may see it */
export async function checkDatabase(database: Pick<Stores, "keys" | "damage">): Promise<void> {
  const cause = database.damage();
  if (cause !== null) {
    const message =
      "Part of the database is damaged and cannot be read; `hone doctor` on its machine says more.";
    throw new ServiceError({ code: "internal", message, cause });
  }
  await database.keys.list({ after: null, limit: 1, order: "asc" });
}
