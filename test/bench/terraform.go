package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// elsewhere is the region of Terraform's groups, which the engine does not look at.
const elsewhere = "us-west-2"

// measureTerraform times terraform plan over as many security groups as the
// engine's refresh sees, on the same endpoint. provider is the directory of a
// binary terraform-provider-aws.
func measureTerraform(ctx context.Context, dir, provider, endpoint string, counts func() map[string]int) error {
	work := filepath.Join(dir, "terraform")
	if err := os.Mkdir(work, 0o755); err != nil {
		return err
	}
	files := map[string]string{
		// Terraform manual, "CLI configuration: development overrides": nothing is
		// downloaded, and terraform init is not needed.
		"terraformrc": fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"hashicorp/aws\" = %q\n  }\n}\n", provider),
		"main.tf": fmt.Sprintf(`
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
`, elsewhere, endpoint, listed-1),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	terraform := func(args ...string) (time.Duration, error) {
		cmd := exec.CommandContext(ctx, "terraform", args...)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(work, "terraformrc"), "CHECKPOINT_DISABLE=1")
		begun := time.Now()
		out, err := cmd.CombinedOutput()
		if err != nil {
			return 0, fmt.Errorf("terraform %s: %w: %s", args[0], err, out)
		}
		return time.Since(begun), nil
	}
	if _, err := terraform("apply", "-auto-approve", "-input=false", "-no-color"); err != nil {
		return err
	}
	before := counts()
	// Without -detailed-exitcode a plan that wants changes would pass unseen.
	took, err := terraform("plan", "-input=false", "-no-color", "-detailed-exitcode")
	if err != nil {
		return err
	}
	_, reading, names := counted(before, counts())
	report("terraform plan", listed, took.Seconds(), "s", fmt.Sprintf("%d calls: %s", reading, names))
	return nil
}
