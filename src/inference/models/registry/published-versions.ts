// Loads what other servers publish, where requests of this one run on the model: the first that asks for the new version
// finds it loaded, as on the server that made it. Nothing rests on it: a version is served by whoever is asked for it.
import { serviceOf, type Service } from "../../../base/domain/lifecycle.ts";
import type { ModelStore, ModelVersion } from "../../../base/domain/model.ts";
import type { Announcements } from "../../../base/domain/servers/pubsub.ts";

export interface PublishedVersionsDependencies {
  readonly announcements: Announcements;
  readonly store: Pick<ModelStore, "find" | "newestVersion">;
  /** The models that requests of this server run on, or ran on just now. */
  readonly modelsInUse: () => ReadonlySet<string>;
  /** Does nothing where the version is loaded. */
  readonly prepareVersion: (version: ModelVersion, baseModel: string) => Promise<void>;
  /** Told what could not be loaded; whoever asks for it hears why. */
  readonly onFault: (error: unknown, modelId: string) => void;
}

export class PublishedVersions implements Service {
  readonly #dependencies: PublishedVersionsDependencies;
  /** Models whose newest version is to be loaded. */
  readonly #waiting = new Set<string>();
  #preparing: Promise<void> | null = null;
  #endListening: () => void = () => undefined;
  readonly #life = serviceOf("published versions", {
    start: async () => {
      const { announcements } = this.#dependencies;
      this.#endListening = announcements.listen("version-published", (modelId) => this.#hear(modelId));
    },
    stop: async () => {
      this.#endListening();
      this.#waiting.clear();
      await this.#preparing;
    },
  });

  constructor(dependencies: PublishedVersionsDependencies) {
    this.#dependencies = dependencies;
  }

  start(): Promise<void> {
    return this.#life.start();
  }

  /** Resolves when what is being loaded is. */
  stop(): Promise<void> {
    return this.#life.stop();
  }

  /** @param published null where it may be any model */
  #hear(published: string | null): void {
    for (const modelId of this.#dependencies.modelsInUse())
      if (published === null || published === modelId) this.#waiting.add(modelId);
    if (this.#waiting.size > 0) this.#preparing ??= this.#prepare();
  }

  async #prepare(): Promise<void> {
    const { store, prepareVersion, onFault } = this.#dependencies;
    for (const modelId of this.#waiting) {
      this.#waiting.delete(modelId);
      try {
        const [model, newest] = await Promise.all([store.find(modelId), store.newestVersion(modelId)]);
        if (model !== null && newest !== null) await prepareVersion(newest, model.baseModel);
      } catch (error) {
        onFault(error, modelId);
      }
    }
    this.#preparing = null;
  }
}
