package awss3

import (
	"bytes"
	"context"
	"fmt"
	"io"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// largest is how many bytes are read into the database: they travel as twice as
// many characters of a JSON text, which PostgreSQL limits to 256 MB.
const largest = 64 << 20

// where are the parameters that tell an object.
func where() []modules.Parameter {
	return []modules.Parameter{
		{Name: "bucket_name", Type: modules.TypeText, Names: "bucket_name", Doc: "The bucket."},
		{Name: "bucket_key", Type: modules.TypeText, Names: "key", Doc: "The object's name in the bucket."},
	}
}

func contentType(usual string) modules.Parameter {
	return modules.Parameter{Name: "content_type", Type: modules.TypeText, Default: "'" + usual + "'",
		Doc: "Its MIME type."}
}

// upload is a function that uploads an object, whose content is of a type.
func upload(c *aws.Clients, name, doc, given, sample string, kind modules.Type, usual string,
	content func(modules.Value) []byte) *modules.Function {
	return &modules.Function{
		Name: name, Doc: doc + " What the bucket has of that name is replaced. Its row of bucket_object appears a " +
			"moment later, if the bucket's list_objects is true.", Given: given, Sample: sample,
		Table: "bucket_object", Right: "INSERT",
		Parameters: append(where(), modules.Parameter{Name: "content", Type: kind, Doc: "Its content."},
			contentType(usual)),
		Returns: []modules.Result{
			{Name: "bucket", Type: modules.TypeText, Doc: "The bucket."},
			{Name: "key", Type: modules.TypeText, Doc: "The object's name."},
			{Name: "status", Type: modules.TypeText, Doc: "OK."},
			{Name: "response_message", Type: modules.TypeText, Doc: "How many bytes have been uploaded."},
			{Name: "e_tag", Type: modules.TypeText, Doc: "A tag that changes with its content, in double quotes."},
		},
		Call: func(ctx context.Context, i modules.Invocation) ([]modules.Row, error) {
			c, scope, args := c.Permitted(i.Permit), i.Scope, i.Arguments
			client, err := homeClient(ctx, c, scope, args["bucket_name"])
			if err != nil {
				return nil, err
			}
			body := content(args["content"])
			out, err := client.PutObject(ctx, &s3.PutObjectInput{
				Bucket: args["bucket_name"].Ptr(), Key: args["bucket_key"].Ptr(),
				ContentType: args["content_type"].Ptr(), Body: bytes.NewReader(body),
			})
			if err != nil {
				return nil, err
			}
			return []modules.Row{{
				"bucket": args["bucket_name"], "key": args["bucket_key"], "status": modules.Text("OK"),
				"response_message": modules.Text(fmt.Sprintf("%d bytes uploaded", len(body))),
				"e_tag":            modules.TextPtr(out.ETag),
			}}, nil
		},
	}
}

// uploadText is the function s3_upload_object.
func uploadText(c *aws.Clients) *modules.Function {
	return upload(c, "s3_upload_object", "Uploads a text as an object.",
		`INSERT INTO bucket (name) VALUES ('my-bucket')`,
		`SELECT status FROM s3_upload_object('my-bucket', 'hello.json', '{"hello": "world"}', 'application/json')`,
		modules.TypeText, "text/plain", func(v modules.Value) []byte { return []byte(v.String()) })
}

// uploadBytes is the function s3_upload_bytes.
func uploadBytes(c *aws.Clients) *modules.Function {
	return upload(c, "s3_upload_bytes", "Uploads bytes as an object.", "",
		`SELECT status FROM s3_upload_bytes('my-bucket', 'photo.jpg', '\xffd8', 'image/jpeg')`,
		modules.TypeBytes, "application/octet-stream", modules.Value.Bytes)
}

// download is the function s3_get_object.
func download(c *aws.Clients) *modules.Function {
	return &modules.Function{
		Name:       "s3_get_object",
		Doc:        fmt.Sprintf("Reads an object, of up to %d MB.", largest>>20),
		Sample:     `SELECT convert_from(content, 'UTF8') FROM s3_get_object('my-bucket', 'hello.json')`,
		Table:      "bucket_object",
		Right:      "SELECT",
		Parameters: where(),
		Returns: []modules.Result{
			{Name: "content", Type: modules.TypeBytes, Doc: "Its content."},
			{Name: "content_type", Type: modules.TypeText, Doc: "Its MIME type."},
			{Name: "size", Type: modules.TypeBigint, Doc: "How many bytes it has."},
			{Name: "e_tag", Type: modules.TypeText, Doc: "A tag that changes with its content, in double quotes."},
			{Name: "last_modified", Type: modules.TypeTime, Doc: "When it was uploaded."},
		},
		Call: func(ctx context.Context, i modules.Invocation) ([]modules.Row, error) {
			c, scope, args := c.Permitted(i.Permit), i.Scope, i.Arguments
			client, err := homeClient(ctx, c, scope, args["bucket_name"])
			if err != nil {
				return nil, err
			}
			out, err := client.GetObject(ctx,
				&s3.GetObjectInput{Bucket: args["bucket_name"].Ptr(), Key: args["bucket_key"].Ptr()})
			if err != nil {
				return nil, err
			}
			defer out.Body.Close()
			if size := awssdk.ToInt64(out.ContentLength); size > largest {
				return nil, &modules.Error{Class: modules.Invalid, Code: "TooLarge",
					Message: fmt.Sprintf("it has %d bytes, more than the %d that fit; use aws s3 cp", size, largest)}
			}
			content, err := io.ReadAll(out.Body)
			if err != nil {
				return nil, &modules.Error{Class: modules.Transient, Message: "the answer was cut off: " +
					err.Error(), Err: err}
			}
			return []modules.Row{{
				"content": modules.Bytes(content), "content_type": modules.TextPtr(out.ContentType),
				"size":  modules.Int(len(content)),
				"e_tag": modules.TextPtr(out.ETag), "last_modified": modules.TimePtr(out.LastModified),
			}}, nil
		},
	}
}
