// The files of a version that was trained.
import type { ArtifactStore } from "../../../store/artifacts/artifact-store.ts";
import { adapterHash } from "../../../inference/architectures/hashes/adapter-hash.ts";
import type { Trainer } from "../trainer.ts";

export interface PublishTarget {
  readonly artifacts: Pick<ArtifactStore, "put">;
  /** The key of the version's adapter, such as `adapters/<model>/<step>`. */
  readonly adapterFolder: string;
}

export interface Published {
  /** Hex SHA-256 of the adapter's files. */
  readonly adapterHash: string;
  /** The trainer's own word for its state. */
  readonly state: string;
}

/**
 * Publishes the trainer's adapter under its key, and has the trainer keep its state under that name. What is there already
 * can only be what a lost attempt left behind, since versions are numbered once; it is replaced. An export that fails leaves
 * nothing behind; an adapter whose state could not be kept is what a lost attempt leaves.
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
