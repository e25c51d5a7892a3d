// Which scopes open which routes, and which routes are for a whole entity. A route that has no row here is for keys alone
// that nothing limits, so that a new one is never opened by accident.
import { foreignMessage, type Caller } from "../../../base/domain/access.ts";
import type { KeyScope } from "../../../base/domain/keys/key-scope.ts";
import { quoted } from "../../../base/domain/service-error.ts";
import { HttpRefusal } from "../errors.ts";

interface RouteScopes {
  /** One of them is enough. */
  readonly scopes: readonly KeyScope[];
  /** What it is about belongs to no project: keys of one project are refused. */
  readonly isWholeEntitys: boolean;
}

interface Row {
  /** Of method and route, as it is registered or documented. */
  readonly pattern: RegExp;
  readonly reads: readonly KeyScope[];
  /** None for what only keys without limits may change. */
  readonly writes: readonly KeyScope[];
  readonly isWholeEntitys?: true;
}

const everyScope = ["chat", "train", "feedback", "read"] as const;
const readingAnything = ["train", "feedback", "read"] as const;

/** What shows the server as a whole: for whoever runs it, and for probes and scrapers. */
const operatorRoutes = /^\/(metrics|v1\/system-check|openapi\.json|docs(\/.*)?)$/;

/** Whether a key is asked for there only where `http.operatorRoutes` says so. @param route as it is registered */
export function isForOperators(route: string): boolean {
  return operatorRoutes.test(route);
}

/** The first that matches is a route's. */
const rows: readonly Row[] = [
  // Who asks, and what can be asked: of no use without more.
  {
    pattern: /^\S+ (\/v1\/models\b|\/v1\/preview\/(key|base-models)$|\/server_info$|\/graphql$)/,
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
      /^POST (\/(de)?tokenize|\/v1\/(chat\/completions\/?|completions|responses|messages(\/count_tokens)?|embeddings|preview\/structured-outputs\/check))$/,
    reads: [],
    writes: ["chat"],
  },
  { pattern: /^\S+ \/v1\/files\b/, reads: ["train", "read"], writes: ["train"], isWholeEntitys: true },
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
      /^\S+ \/(feedback|annotation_queues|objs?|refs|tables?|files?|calls?|v2|v1\/preview\/projects\/[^/]+\/[^/]+\/traces)(\/|$)/,
    reads: ["feedback", "read"],
    writes: ["feedback"],
  },
];

/** Routes that read though they are asked by POST: what they are asked for does not fit into an address. */
const readByPost =
  /^POST (\/feedback\/(query|history|export|stats)|\/annotation_queues(\/[^/]+\/items)?\/(query|stats)|\/(obj|call)\/read|\/(objs|table)\/query|\/(table|calls)\/query_stats|\/refs\/read_batch|\/calls\/stream_query|\/file\/content)$/;

/** Routes that add records of their own, such as feedback and traces, often many a second. */
const recordsData =
  /^POST (\/feedback\/(batch\/)?create|\/v1\/preview\/models\/[^/]+\/log|\/(obj|files?)\/create|\/table\/create(_from_digests)?|(\/v2\/[^/]+\/[^/]+)?\/calls?\/(start|end|complete|upsert_batch))$/;

/**
 * Returns what a request to the route does at most: `read`, `record` (adds records), or `change` (everything else, also a
 * route that is new).
 */
export function effectOf(method: string, route: string): "read" | "record" | "change" {
  const asked = `${method} ${route}`;
  if (["GET", "HEAD", "OPTIONS"].includes(method) || asked === "POST /graphql") return "read";
  if (readByPost.test(asked) || asksModels(method, route)) return "read";
  return recordsData.test(asked) ? "record" : "change";
}

/**
 * What opens a route.
 *
 * @param route with parameters as `:name` or `{name}`
 * @returns null for one that only a key without limits opens
 */
export function scopesOf(method: string, route: string): RouteScopes | null {
  const asked = `${method} ${route}`;
  const row = rows.find(({ pattern }) => pattern.test(asked));
  if (row === undefined) return null;
  const isRead = method === "GET" || method === "HEAD" || readByPost.test(asked);
  return { scopes: isRead ? row.reads : row.writes, isWholeEntitys: row.isWholeEntitys ?? false };
}

/** Whether the route has a model work: what it opens is `chat` alone. */
export function asksModels(method: string, route: string): boolean {
  const scopes = scopesOf(method, route)?.scopes ?? [];
  return scopes.length === 1 && scopes[0] === "chat";
}

/**
 * Lets a key with limits in where they let it.
 *
 * @throws HttpRefusal 403 with what the route wants and what the key has
 */
export function refuseRoute(caller: Caller, method: string, route: string): void {
  const { scopes, project } = caller;
  if (scopes === null && project === null) return;
  const opens = scopesOf(method, route);
  if (scopes !== null && !scopes.some((scope) => opens?.scopes.includes(scope))) {
    const wanted = opens === null || opens.scopes.length === 0 ? null : opens.scopes;
    throw refusal(
      `This key is for ${inWords(scopes, "and")} only, and ${method} ${route} is for ${
        wanted === null ? "keys without such limits" : `keys for ${inWords(wanted, "or")}`
      }. Use another key, or have an administrator change the scopes of this one.`,
    );
  }
  if (project !== null && (opens === null || opens.isWholeEntitys)) {
    const what = foreignMessage(
      caller,
      { entity: caller.entity, project: null },
      `What ${method} ${route} is about`,
    );
    throw refusal(`${what} Use a key of the whole entity ${quoted(caller.entity)}.`);
  }
}

function inWords(scopes: readonly KeyScope[], joint: "and" | "or"): string {
  return scopes.map((scope) => `\`${scope}\``).join(` ${joint} `);
}

function refusal(message: string): HttpRefusal {
  return new HttpRefusal({
    status: 403,
    code: "forbidden",
    faults: [{ location: ["header", "authorization"], message, type: "forbidden" }],
  });
}
