// Store for the trainer's states in a live training process. The trainer reads earlier states from the shared store. It
// writes new states to a folder, which the server then publishes together with the adapter.
import { basename, join } from "node:path";
import { present } from "../../../base/domain/assert.ts";
import type { ArtifactStore } from "../../../store/artifacts/artifact-store.ts";
import type { StateStore } from "../../trainer/child-protocol.ts";

export class ScratchArtifacts implements StateStore {
  readonly #shared: StateStore;
  #folder: string | null = null;

  constructor(shared: StateStore) {
    this.#shared = shared;
  }

  /** Lets the trainer write to a folder while `work` runs. */
  async during<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
    this.#folder = folder;
    try {
      return await work();
    } finally {
      this.#folder = null;
    }
  }

  /** The path of the scratch folder is its key. */
  path(...[key, seal]: Parameters<ArtifactStore["path"]>): Promise<string> {
    return key === this.#folder ? Promise.resolve(key) : this.#shared.path(key, seal);
  }

  putFile<Result>(key: string, write: (file: string) => Promise<Result>): Promise<Result> {
    return write(join(present(this.#folder, "a folder to write to"), basename(key)));
  }

  remove(key: string): Promise<void> {
    return this.#shared.remove(key);
  }
}
