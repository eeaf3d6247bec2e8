package main

import (
	"context"
	"fmt"
	"time"
)

// elsewhere is the region of Terraform's groups, which the engine does not look at.
const elsewhere = "us-west-2"

// measureTerraform times terraform plan over as many security groups as the
// engine's refresh sees, on the same endpoint. provider is the directory of a
// binary terraform-provider-aws.
func measureTerraform(ctx context.Context, dir, provider, endpoint string, counts func() map[string]int) error {
	t, err := newTerraform(dir, provider, fmt.Sprintf(`
terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}
provider "aws" {
  region                      = %[1]q
  access_key                  = "test"
  secret_key                  = "test"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
  endpoints {
    ec2 = %[2]q
    sts = %[2]q
    iam = %[2]q
  }
}
resource "aws_security_group" "bench" {
  count       = %[3]d
  name        = "group ${count.index}"
  description = "of the bench"
}
`, elsewhere, endpoint, listed-1))
	if err != nil {
		return err
	}
	if err := t.run(ctx, "apply", "-auto-approve", "-input=false", "-no-color"); err != nil {
		return err
	}
	before := counts()
	// Without -detailed-exitcode a plan that wants changes would pass unseen.
	begun := time.Now()
	if err := t.run(ctx, "plan", "-input=false", "-no-color", "-detailed-exitcode"); err != nil {
		return err
	}
	took := time.Since(begun)
	_, reading, names := counted(before, counts())
	report("terraform plan", listed, took.Seconds(), "s", fmt.Sprintf("%d calls: %s", reading, names))
	return nil
}
