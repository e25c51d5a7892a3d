// The vendor's client library for S3. It is in a module of its own, so that it is loaded only if a bucket is used.
export { S3 } from "@aws-sdk/client-s3";
