// What a job trains on, as it is stored: hashed while it is written, read back a line at a time and unparsed.
import { createHash } from "node:crypto";
import type { Kysely } from "kysely";
import { notFound } from "../domain/service-error.ts";
import type { TrainingConfig } from "../domain/training-config.ts";
import type { Schema } from "./schema.ts";

/** Hashes a job's configuration and the lines of its groups, in order. */
export class ContentHash {
  readonly #hash = createHash("sha256");

  constructor(config: TrainingConfig) {
    this.add(JSON.stringify(config));
  }

  /** @param line JSON on one line, so that no two contents read alike */
  add(line: string): void {
    this.#hash.update(line).update("\n");
  }

  /** Hex SHA-256 of all that was added; ends the hash. */
  digest(): string {
    return this.#hash.digest("hex");
  }
}

/** The lines of a job's groups, one statement and one line in memory at a time. @throws ServiceError `not_found` */
export async function* jobLines(database: Kysely<Schema>, jobId: string): AsyncGenerator<string, void> {
  for (let groupIndex = 0; ; groupIndex++) {
    const row = await database
      .selectFrom("job_groups")
      .select("content")
      .where("job_id", "=", jobId)
      .where("group_index", "=", groupIndex)
      .executeTakeFirst();
    if (row === undefined) break;
    yield row.content;
  }
  // A job goes with all its groups at once: while it is there, what was read is all of it.
  const job = await database.selectFrom("jobs").select("id").where("id", "=", jobId).executeTakeFirst();
  if (job === undefined) throw notFound("training job", jobId);
}
