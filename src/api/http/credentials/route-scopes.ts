// Lists the key scopes that give access to each route, and the routes that require a key for the whole entity. A route
// without a row here requires a key without limits, so that a new route is never opened by accident.
import { foreignMessage, type Caller } from "../../../base/domain/access.ts";
import type { KeyScope } from "../../../base/domain/keys/key-scope.ts";
import { quoted } from "../../../base/domain/service-error.ts";
import { HttpRefusal } from "../errors.ts";

interface RouteScopes {
  /** Scopes that give access to the route. A key with any one of them may use the route. */
  readonly scopes: readonly KeyScope[];
  /** True if the route concerns more than one project, so that keys for a single project are refused. */
  readonly isWholeEntitys: boolean;
}

interface Row {
  /** Matches the method and the path of routes, with path parameters written as `:name` or `{name}`. */
  readonly pattern: RegExp;
  readonly reads: readonly KeyScope[];
  /** Scopes that give access to changes. Empty if changes require a key without limits. */
  readonly writes: readonly KeyScope[];
  readonly isWholeEntitys?: true;
}

const everyScope = ["chat", "train", "feedback", "read"] as const;
const readingAnything = ["train", "feedback", "read"] as const;

/** Routes about the server as a whole, for operators, health probes and metrics scrapers. */
const operatorRoutes = /^\/(metrics|v1\/system-check|openapi\.json|docs(\/.*)?)$/;

/**
 * True if the setting `http.operatorRoutes` decides whether the route requires a key.
 *
 * @param route path as registered
 */
export function isForOperators(route: string): boolean {
  return operatorRoutes.test(route);
}

/** Rows of routes and their scopes. The first row that matches a route applies. */
const rows: readonly Row[] = [
  { pattern: /^DELETE \/v1\/models\b/, reads: [], writes: ["train"] },
  // Identity and capabilities: every scope gives access to these routes, because clients need them to use any other
  // route.
  {
    pattern:
      /^\S+ (\/v1\/models\b|\/v1\/preview\/(key|base-models|summary)$|\/server_info$|\/graphql$|\/api\/(version|tags|ps|show|pull|copy|create|push)$)/,
    reads: everyScope,
    writes: everyScope,
  },
  { pattern: /^GET \/(metrics|v1\/system-check|openapi\.json|docs)(\/|$)/, reads: everyScope, writes: [] },
  {
    pattern: /^(GET|HEAD|DELETE) \/v1\/chat\/completions\b/,
    reads: readingAnything,
    writes: ["train"],
  },
  {
    pattern:
      /^POST (\/(de)?tokenize|\/api\/(chat|generate|embed|embeddings)|\/v1\/(chat\/completions\/?|completions|responses|messages(\/count_tokens)?|embeddings|preview\/structured-outputs\/check))$/,
    reads: [],
    writes: ["chat"],
  },
  { pattern: /^\S+ \/api\/(v1\/|delete$)/, reads: ["train"], writes: ["train"] },
  {
    pattern: /^\S+ \/v1\/(files|uploads|fine_tuning)\b/,
    reads: ["train", "read"],
    writes: ["train"],
    isWholeEntitys: true,
  },
  {
    pattern: /^\S+ \/v1\/preview\/projects\/[^/]+\/[^/]+\/datasets\b/,
    reads: [],
    writes: ["train"],
    isWholeEntitys: true,
  },
  {
    pattern: /^\S+ \/v1\/preview\/(webhooks|usage|retention)\b/,
    reads: ["read"],
    writes: [],
    isWholeEntitys: true,
  },
  {
    pattern: /^\S+ \/v1\/preview\/(models|reward-rules|((sft|preference)-)?training-jobs)\b/,
    reads: ["train", "read"],
    writes: ["train"],
  },
  {
    pattern:
      /^\S+ \/(feedback|annotation_queues|objs?|refs|tables?|files?|calls?|v2|v1\/traces|api\/public|v1\/preview\/projects\/[^/]+\/[^/]+\/traces)(\/|$)/,
    reads: ["feedback", "read"],
    writes: ["feedback"],
  },
];

/** Beginning of the routes that call a model in a rollout. The part after it is the same as in the usual route. */
const rolloutPrefix = /^\/v1\/preview\/models\/[^/]+\/rollouts\/[^/]+(?=\/(?:v1|api)\/)/;

/** Routes that use POST although they only read, because their input does not fit into a URL. */
const readByPost =
  /^POST (\/api\/(show|pull|copy|create|push)|\/feedback\/(query|history|export|stats)|\/annotation_queues(\/[^/]+\/items)?\/(query|stats)|\/(obj|call)\/read|\/(objs|table)\/query|\/(table|calls)\/query_stats|\/refs\/read_batch|\/calls\/stream_query|\/file\/content|\/api\/v1\/(client\/(dynamic_)?config|session_heartbeat|telemetry|get_info|weights_info|forward|asample|retrieve_future))$/;

/** Routes that add records such as feedback and traces, or train a live model, often many times per second. */
const recordsData =
  /^POST (\/feedback\/(batch\/)?create|\/v1\/preview\/models\/[^/]+\/log|\/api\/v1\/(forward_backward|optim_step|create_sampling_session|create_session)|\/v1\/traces|\/api\/public\/(otel\/v1\/traces|scores|ingestion)|\/(obj|files?)\/create|\/table\/create(_from_digests)?|(\/v2\/[^/]+\/[^/]+)?\/calls?\/(start|end|complete|upsert_batch))$/;

/**
 * Returns the strongest effect that a request to the route can have: `read`, `record` (adds records), or `change`
 * (everything else, including new routes).
 */
export function effectOf(method: string, route: string): "read" | "record" | "change" {
  const asked = `${method} ${route}`;
  if (["GET", "HEAD", "OPTIONS"].includes(method) || asked === "POST /graphql") return "read";
  if (readByPost.test(asked) || asksModels(method, route)) return "read";
  return recordsData.test(asked) ? "record" : "change";
}

/**
 * Returns the scopes that give access to a route.
 *
 * @param route with parameters as `:name` or `{name}`
 * @returns null if the route requires a key without limits
 */
export function scopesOf(method: string, route: string): RouteScopes | null {
  const asked = `${method} ${route.replace(rolloutPrefix, "")}`;
  const row = rows.find(({ pattern }) => pattern.test(asked));
  if (row === undefined) return null;
  const isRead = method === "GET" || method === "HEAD" || readByPost.test(asked);
  return { scopes: isRead ? row.reads : row.writes, isWholeEntitys: row.isWholeEntitys ?? false };
}

/** True if the route runs a model. Only the scope `chat` gives access to such routes. */
export function asksModels(method: string, route: string): boolean {
  const scopes = scopesOf(method, route)?.scopes ?? [];
  return scopes.length === 1 && scopes[0] === "chat";
}

/**
 * Refuses a limited key that does not give access to the route.
 *
 * @throws HttpRefusal 403 with the scopes that the route requires and those of the key
 */
export function refuseRoute(caller: Caller, method: string, route: string): void {
  const { scopes, project } = caller;
  if (scopes === null && project === null) return;
  const opens = scopesOf(method, route);
  if (scopes !== null && !scopes.some((scope) => opens?.scopes.includes(scope))) {
    const wanted = opens === null || opens.scopes.length === 0 ? null : opens.scopes;
    throw refusal(
      `This key is for ${joinWords(scopes, "and")} only, and ${method} ${route} is for ${
        wanted === null ? "keys without such limits" : `keys for ${joinWords(wanted, "or")}`
      }. Use another key, or have an administrator change the scopes of this one.`,
    );
  }
  if (project !== null && (opens === null || opens.isWholeEntitys)) {
    const what = foreignMessage(
      caller,
      { entity: caller.entity, project: null },
      `The subject of ${method} ${route}`,
    );
    throw refusal(`${what} Use a key of the whole entity ${quoted(caller.entity)}.`);
  }
}

function joinWords(scopes: readonly KeyScope[], joint: "and" | "or"): string {
  return scopes.map((scope) => `\`${scope}\``).join(` ${joint} `);
}

function refusal(message: string): HttpRefusal {
  return new HttpRefusal({
    status: 403,
    code: "forbidden",
    faults: [{ location: ["header", "authorization"], message, type: "forbidden" }],
  });
}
