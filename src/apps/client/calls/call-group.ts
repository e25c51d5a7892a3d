// Base class of call groups such as `hone.models`. A call's arguments are the ids in the route's path, in order; then
// the body or the query; then options.
import type { RequestOptions } from "../connection.ts";
import type { Pages } from "../pages.ts";
import type { AnswerOf, BodyOf, CallOptions, Calls, InputOf } from "./calls.ts";
import type { ItemOf, PagedRoute, QueryOf, Route, RouteWith } from "./calls.ts";

/** One argument for each `{id}` in the route's path. */
type Ids<R extends string> = R extends `${string}{${string}}${infer Rest}`
  ? [id: string | number, ...Ids<Rest>]
  : [];

/** The body argument, which is optional if all fields of the body are. */
type Sent<R extends Route> = Partial<BodyOf<R>> extends BodyOf<R> ? [body?: BodyOf<R>] : [body: BodyOf<R>];

export abstract class CallGroup {
  protected readonly calls: Calls;

  constructor(calls: Calls) {
    this.calls = calls;
  }

  /** Returns a function that calls a route without body and query. */
  protected call<R extends RouteWith<"answer">>(route: R, preset?: CallOptions) {
    return (...values: [...Ids<R>, options?: RequestOptions]): Promise<AnswerOf<R>> => {
      const { path, rest } = split(route, values);
      return this.calls.call(route, inputOf<R>({ path }), { ...preset, ...optionsOf(rest[0]) });
    };
  }

  /** Returns a function that calls a route with a body. */
  protected send<R extends RouteWith<"answer"> & RouteWith<"body">>(route: R, preset?: CallOptions) {
    return (...values: [...Ids<R>, ...Sent<R>, options?: RequestOptions]): Promise<AnswerOf<R>> => {
      const { path, rest } = split(route, values);
      const input = inputOf<R>({ path, body: rest[0] ?? {} });
      return this.calls.call(route, input, { ...preset, ...optionsOf(rest[1]) });
    };
  }

  /** Returns a function that calls a route with a query. */
  protected search<R extends RouteWith<"answer">>(route: R) {
    return (...values: [...Ids<R>, query?: QueryOf<R>, options?: RequestOptions]): Promise<AnswerOf<R>> => {
      const { path, rest } = split(route, values);
      return this.calls.call(route, inputOf<R>({ path, query: rest[0] }), optionsOf(rest[1]));
    };
  }

  /** Returns a function that lists a route's items, page by page. */
  protected pages<R extends PagedRoute>(route: R) {
    return (
      ...values: [...Ids<R>, query?: QueryOf<R>, options?: RequestOptions]
    ): Pages<ItemOf<R>, AnswerOf<R>> => {
      const { path, rest } = split(route, values);
      return this.calls.pages(route, inputOf<R>({ path, query: rest[0] }), optionsOf(rest[1]));
    };
  }
}

/** Separates the arguments for the path from those after them. */
function split(route: Route, values: readonly unknown[]) {
  const names = [...route.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const path = Object.fromEntries(names.map((name, index) => [name, String(values[index])]));
  return { path, rest: values.slice(names.length) };
}

/** Safe cast: the types of the callers' parameters come from R's path, query and body. */
export function inputOf<R extends Route>(parts: object): InputOf<R> {
  return parts as InputOf<R>;
}

/** Safe cast: the callers' parameters have the type of options at this position. */
function optionsOf(value: unknown): RequestOptions | undefined {
  return value as RequestOptions | undefined;
}
