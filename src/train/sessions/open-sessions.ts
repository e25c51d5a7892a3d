// Sessions of programs that use the Tinker API: who opened them, the models that they train, and the models from which
// they sample. If the heartbeats of a session stop, the session and the training processes of its models end.
import type { Caller } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { newUuid } from "../../base/domain/random.ts";
import { notFound, ServiceError } from "../../base/domain/service-error.ts";
import type { LiveModel } from "./live-model.ts";
import { samplerIdOf } from "./run-names.ts";
import type { SessionSettings } from "./settings.ts";

/** A model from which a program samples. */
export interface Sampler {
  readonly id: string;
  /** The client's name for the base model. */
  readonly baseName: string;
  /** Path of the weights as the client knows it; null for a base model, or for weights without a name. */
  readonly path: string | null;
  /** Name of the model or version in chat requests. */
  readonly model: string;
}

/** Operation that created a model. Its fingerprint identifies a repeated request. */
export interface Creation {
  readonly future: string;
  readonly fingerprint: string;
}

export interface Session {
  readonly id: string;
  readonly entity: string;
  readonly project: string | null;
  readonly metadata: object | null;
  readonly displayName: string | null;
  /** Models by their number in the session. */
  readonly models: Map<number, LiveModel>;
  readonly creations: Map<number, Creation>;
  readonly samplers: Map<string, Sampler>;
  /** Aborts when the session is closed, so that sampling for it ends. */
  readonly ending: AbortController;
  heardMs: number;
}

type Limits = Pick<SessionSettings, "sessionsPerEntityMax" | "samplersPerSessionMax" | "sessionMs">;

export class OpenSessions {
  readonly #clock: Clock;
  readonly #limits: Limits;
  readonly #sessions = new Map<string, Session>();

  constructor(clock: Clock, limits: Limits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** @throws ServiceError `overloaded` if the entity has too many sessions */
  open(
    { entity, project }: Pick<Caller, "entity" | "project">,
    about: Pick<Session, "metadata" | "displayName">,
  ): Session {
    const { sessionsPerEntityMax: max } = this.#limits;
    if ([...this.#sessions.values()].filter((each) => each.entity === entity).length >= max)
      throw new ServiceError({
        code: "overloaded",
        message: `${max} sessions are open, the maximum; close some programs that use the API.`,
        retryAfterSeconds: 10,
      });
    const session: Session = {
      ...about,
      id: newUuid(),
      entity,
      project,
      models: new Map(),
      creations: new Map(),
      samplers: new Map(),
      ending: new AbortController(),
      heardMs: this.#clock.monotonicMs(),
    };
    this.#sessions.set(session.id, session);
    return session;
  }

  /**
   * Returns a session of the caller, and counts the request as a heartbeat.
   *
   * @throws ServiceError `not_found`, also for a session of another entity or project
   */
  find(id: string, { entity, project }: Pick<Caller, "entity" | "project">): Session {
    const session = this.#sessions.get(id);
    const isOwn = session?.entity === entity && (project === null || project === session.project);
    if (session === undefined || !isOwn) throw noSession(id);
    session.heardMs = this.#clock.monotonicMs();
    return session;
  }

  /** Returns the sessions that the caller may read, the oldest first. */
  list({ entity, project }: Pick<Caller, "entity" | "project">): readonly Session[] {
    return this.all().filter(
      (each) => each.entity === entity && (project === null || project === each.project),
    );
  }

  all(): readonly Session[] {
    return [...this.#sessions.values()];
  }

  /** Adds a sampler. A repeated request with the same number returns the first one. */
  addSampler(session: Session, seqId: number, about: Omit<Sampler, "id">): Sampler {
    const id = samplerIdOf(session.id, seqId);
    const earlier = session.samplers.get(id);
    if (earlier !== undefined) return earlier;
    const { samplersPerSessionMax: max } = this.#limits;
    const [oldest] = session.samplers.keys();
    if (session.samplers.size >= max) session.samplers.delete(oldest);
    const sampler = { ...about, id };
    session.samplers.set(id, sampler);
    return sampler;
  }

  /** Closes a session, and returns its models. The caller must end their training. */
  close(session: Session): readonly LiveModel[] {
    this.#sessions.delete(session.id);
    session.ending.abort(new ServiceError({ code: "cancelled", message: "The session was closed." }));
    return [...session.models.values()];
  }

  /**
   * Returns the sessions that have sent no heartbeat for too long.
   *
   * @param limits.trainingMs maximum time in milliseconds for sessions with models in training
   */
  silent({ trainingMs }: { readonly trainingMs: number }): readonly Session[] {
    const nowMs = this.#clock.monotonicMs();
    return this.all().filter(({ heardMs, models }) => {
      const maxMs = models.size > 0 ? trainingMs : this.#limits.sessionMs;
      return nowMs - heardMs > maxMs;
    });
  }
}

/** Returns the error for a session that does not exist or has ended. */
function noSession(id: string): ServiceError {
  const { message } = notFound("session", id);
  return new ServiceError({
    code: "not_found",
    message: `${message} It has ended, or the server was restarted: create a new ServiceClient, and a training client from the last saved weights.`,
  });
}
