// What the package's `hone-server/client` is: the client, its error, and the types of the API.
export type * from "./api.ts";
export { Hone } from "./hone.ts";
export { HoneError, type Fault } from "./hone-error.ts";
export { Model, type ModelOptions } from "./trained-model.ts";
export { Pages } from "./pages.ts";
export type { ConnectionOptions as HoneOptions, RequestOptions } from "./connection.ts";
export type { CreateJobOptions } from "./calls/job-calls.ts";
export type { FollowOptions, WatchOptions } from "./calls/follow-job.ts";
export type { TrajectoryFilter } from "./calls/trajectory-calls.ts";
export type { Upload } from "./upload.ts";
