// The vendor's client library. It is in a separate module, so that it is loaded only if a bucket is used.
export { S3 } from "@aws-sdk/client-s3";
