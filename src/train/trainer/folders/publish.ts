// Publishes the files of a trained version.
import type { ArtifactStore } from "../../../store/artifacts/artifact-store.ts";
import { adapterHash } from "../../../inference/architectures/hashes/adapter-hash.ts";
import type { Trainer } from "../trainer.ts";

export interface PublishTarget {
  readonly artifacts: Pick<ArtifactStore, "put">;
  /** Artifact key of the version's adapter, such as `adapters/<model>/<step>`. */
  readonly adapterFolder: string;
}

export interface Published {
  /** Hex SHA-256 of the published adapter's files. */
  readonly adapterHash: string;
  /** Key of the saved trainer state, as the trainer returned it. */
  readonly state: string;
}

/**
 * Publishes the trainer's adapter under its key, and saves the trainer's state under the same name. Replaces existing
 * files, which only a lost attempt can have left. If exporting fails, stores nothing; if saving the state fails, the
 * adapter stays until the next attempt replaces it.
 */
export async function publishVersion(
  trainer: Pick<Trainer, "exportAdapter" | "saveState">,
  { artifacts, adapterFolder }: PublishTarget,
  { signal }: { readonly signal: AbortSignal },
): Promise<Published> {
  const call = (id: string) => ({ id: `${id} of the version`, signal });
  const hash = await artifacts.put(adapterFolder, async (folder) => {
    await trainer.exportAdapter(folder, call("adapter"));
    return adapterHash(folder);
  });
  return { adapterHash: hash, state: await trainer.saveState(adapterFolder, call("state")) };
}
