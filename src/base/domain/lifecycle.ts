// Contract of long-lived components. An implementation defines how it starts and stops; this module handles repeated,
// premature and concurrent calls.
import { ServiceError } from "./service-error.ts";

export interface Service {
  /**
   * Starts the service and resolves when it runs. Repeated calls wait for the same start.
   *
   * @throws any error of the start; `stop` cleans up after a failed start
   * @throws ServiceError `unavailable` if the service was stopped before or during the start; a stopped service cannot
   * be started again
   */
  start(): Promise<void>;
  /**
   * Stops the service and resolves when it has stopped. Repeated calls wait for the same stop. A stop before the start
   * prevents the start; a stop during the start aborts it.
   */
  stop(): Promise<void>;
}

/** Functions that start and stop a service. */
export interface Life {
  /** Starts the service; called at most once. It may continue in the background until the signal aborts. */
  start?(signal: AbortSignal): Promise<void>;
  /** Stops the service. Called once, while no start is in progress; also after a failed start, or without any start. */
  stop?(): Promise<void>;
}

/** Returns a service. `name` is used in messages: `The <name> was stopped while it started.` */
export function serviceOf(name: string, life: Life): Service {
  const stopping = new AbortController();
  let started: Promise<void> | null = null;
  let stopped: Promise<void> | null = null;
  const start = async (): Promise<void> => {
    await life.start?.(stopping.signal);
    stopping.signal.throwIfAborted();
  };
  const stop = async (): Promise<void> => {
    const how = started === null ? "before it started" : "while it started";
    stopping.abort(unavailable(`The ${name} was stopped ${how}.`));
    // Ignores the error of the start, because the caller of `start` gets it.
    await started?.catch(() => undefined);
    await life.stop?.();
  };
  return {
    start: () => {
      if (stopped !== null)
        return Promise.reject(unavailable(`The ${name} was stopped; it does not start again.`));
      return (started ??= start());
    },
    stop: () => (stopped ??= stop()),
  };
}

/**
 * Returns a service that consists of parts. `build` starts the parts in order, by calling the function that it is
 * given. The parts are stopped in reverse order, even if some never started or one fails to stop.
 */
export function serviceOfParts(
  name: string,
  build: (start: (part: Service) => Promise<void>) => Promise<void>,
): Service {
  const parts: Service[] = [];
  return serviceOf(name, {
    start: (signal) =>
      build(async (part) => {
        // Adds the part even if the service is already stopping, because the part may hold open resources.
        parts.push(part);
        signal.throwIfAborted();
        // Stops the part immediately: a slow start must not delay the stop. Errors are reported again at the end.
        const breakOff = (): void => void part.stop().catch(() => undefined);
        signal.addEventListener("abort", breakOff, { once: true });
        try {
          await part.start();
        } finally {
          signal.removeEventListener("abort", breakOff);
        }
      }),
    stop: async () => {
      const errors: unknown[] = [];
      for (const part of parts.reverse()) await part.stop().catch((error: unknown) => errors.push(error));
      if (errors.length === 1) throw errors[0];
      if (errors.length > 1) throw new AggregateError(errors, `Parts of the ${name} could not be stopped.`);
    },
  });
}

function unavailable(message: string): ServiceError {
  return new ServiceError({ code: "unavailable", message });
}
