// When another server publishes a new version of a model that this server's requests use, loads the version ahead of
// time, so that the first request for it does not wait. This is only an optimization: any server loads a version when a
// request asks for it.
import { serviceOf, type Service } from "../../../base/domain/lifecycle.ts";
import type { ModelStore, ModelVersion } from "../../../base/domain/model.ts";
import type { Announcements } from "../../../base/domain/servers/pubsub.ts";

export interface PublishedVersionsDependencies {
  readonly announcements: Announcements;
  readonly store: Pick<ModelStore, "find" | "newestVersion">;
  /** Returns the ids of the models that requests of this server use, or have recently used. */
  readonly modelsInUse: () => ReadonlySet<string>;
  /** Loads the version. Does nothing if it is already loaded. */
  readonly prepareVersion: (version: ModelVersion, baseModel: string) => Promise<void>;
  /** Receives the error of a version that could not be loaded. A request for that version gets the error too. */
  readonly onFault: (error: unknown, modelId: string) => void;
}

export class PublishedVersions implements Service {
  readonly #dependencies: PublishedVersionsDependencies;
  /** Ids of the models whose newest version will be loaded. */
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

  /** Stops listening. Resolves once the load in progress has ended. */
  stop(): Promise<void> {
    return this.#life.stop();
  }

  /**
   * If the published model is in use, queues it so that its newest version is loaded. For null, does so for all models
   * in use.
   */
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
