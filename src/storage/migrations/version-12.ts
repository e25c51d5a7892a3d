// Version 12 of the database: what each version of a model was trained over, and the hash of its adapter.
import { sql, type Transaction } from "kysely";
import { baseOfFiles } from "../../domain/model.ts";
import type { Schema } from "../schema.ts";

/** SHA-256 of the built-in model's weights in version 0.1, whose jobs recorded nothing of their base. */
const firstBuiltIn = {
  name: "hone-tiny",
  weights: "a3b71e79f2223c23622327b925f01d686a73e42f21ae87cb9adf5455e23d5758",
};

export async function addVersion12(queries: Transaction<Schema>): Promise<void> {
  await sql`alter table model_versions add column base text`.execute(queries);
  await sql`alter table model_versions add column adapter_hash text`.execute(queries);
  const made = await queries
    .selectFrom("model_versions")
    .innerJoin("jobs", "jobs.id", "model_versions.job_id")
    .innerJoin("models", "models.id", "model_versions.model_id")
    .select(["model_versions.id", "models.base_model", "jobs.pins"])
    .execute();
  for (const { id, base_model: baseModel, pins } of made) {
    const base = pins === null ? baseWithoutPins(baseModel) : baseOfPins(pins);
    await queries.updateTable("model_versions").set({ base }).where("id", "=", id).execute();
  }
}

/** A job that pinned nothing is of 0.1, which served its built-in model under this name and no other. */
function baseWithoutPins(baseModel: string): string | null {
  return baseModel === firstBuiltIn.name ? firstBuiltIn.weights : null;
}

function baseOfPins(pins: string): string {
  // The column holds what the job store wrote.
  const { baseHash } = JSON.parse(pins) as { readonly baseHash: string };
  return baseOfFiles(baseHash);
}
