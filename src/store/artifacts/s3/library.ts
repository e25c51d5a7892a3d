// The store's client library, in a module of its own so that it is loaded only if there is a bucket.
export { S3 } from "@aws-sdk/client-s3";
