// For tests: training sessions over the contract's tiny model, on a test's own stores.
import type { Clock } from "../../../base/domain/clock.ts";
import type { ModelStore } from "../../../base/domain/model.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import { dataFolderAt } from "../../../store/artifacts/testing/data-folder.ts";
import { embeddedProfile } from "../../trainer/embedded/profile.ts";
import type { LiveProcess } from "../process/start-process.ts";
import { type SessionSettings, sessionSettings } from "../settings.ts";
import type { SessionDependencies } from "../session-requests.ts";
import { TrainingSessions } from "../training-sessions.ts";

export interface FakeSessionsOptions {
  readonly store: ModelStore;
  readonly models: SessionDependencies["models"];
  readonly clock: Clock;
  readonly dataFolder: string;
  readonly settings?: Partial<SessionSettings>;
  /** Starts processes; by default those of the tiny model, in the test's own process. */
  readonly startProcess?: SessionDependencies["startProcess"];
}

/** Returns sessions that have not been started, so that only a test sweeps them. */
export function fakeSessions(options: FakeSessionsOptions): TrainingSessions {
  const { store, models, clock, dataFolder, settings = {} } = options;
  return new TrainingSessions({
    store,
    models,
    ...dataFolderAt(dataFolder),
    bases: ["tiny"],
    requireLive: (baseModel) => {
      if (baseModel === "tiny") return;
      throw new ServiceError({ code: "unsupported", message: `${baseModel} cannot be trained here.` });
    },
    trainer: embeddedProfile,
    startProcess:
      options.startProcess ??
      (async (model): Promise<LiveProcess> => {
        // Imported only if a test trains, because the trainer's libraries take long to load.
        const { startInProcess } = await import("./in-process.ts");
        return startInProcess(dataFolder, model);
      }),
    prepareVersion: async () => undefined,
    onNewVersion: async () => undefined,
    clock,
    logger: silentLogger,
    settings: sessionSettings.with({ ...settings }),
  });
}
