// System check of the database: it answers a query, and no statement since the start has found it damaged.
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { Stores } from "../../../store/database/stores.ts";

/**
 * @throws the error of a failed query; ServiceError `internal` for damage, without the file's path, because any client
 * may see the message
 */
export async function checkDatabase(database: Pick<Stores, "keys" | "damage">): Promise<void> {
  const cause = database.damage();
  if (cause !== null) {
    const message =
      "Part of the database is damaged and cannot be read; `hone doctor` on its machine says more.";
    throw new ServiceError({ code: "internal", message, cause });
  }
  await database.keys.list({ after: null, limit: 1, order: "asc" });
}
