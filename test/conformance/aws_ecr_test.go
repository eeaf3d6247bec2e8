package conformance

var awsECR = Module{
	Name: "aws_ecr",
	CLI: []string{
		`ecr create-repository --repository-name home-sql`, `ecr create-repository --repository-name home-cli`,
		`ecr create-repository --repository-name home-adopted`,
		`ecr create-repository --repository-name home-tracked`, `ecr create-repository --repository-name home-other`,
	},
	Tables: []Table{
		{
			Name: "repository", Identity: "repository_name", ID: "repository-$n",
			Insert: `(repository_name) VALUES ('$id')`,
			See:    `ecr describe-repositories --repository-names $id`,
			Create: run(`ecr create-repository --repository-name $id`),
			Delete: run(`ecr delete-repository --repository-name $id --force`),
			Change: []Change{
				{
					"image_tag_mutability", `'IMMUTABLE_WITH_EXCLUSION'`,
					`ecr describe-repositories --repository-names $id --query repositories[0].imageTagMutability`, "",
					run(`ecr put-image-tag-mutability --repository-name $id --image-tag-mutability MUTABLE_WITH_EXCLUSION --image-tag-mutability-exclusion-filters filterType=WILDCARD,filter=cli-*`),
					`'MUTABLE_WITH_EXCLUSION'`,
				},
				{
					"image_tag_mutability_exclusions", `'{sql-*}'`,
					`ecr describe-repositories --repository-names $id --query repositories[0].imageTagMutabilityExclusionFilters[].filter`, `["sql-*"]`,
					run(`ecr put-image-tag-mutability --repository-name $id --image-tag-mutability MUTABLE_WITH_EXCLUSION --image-tag-mutability-exclusion-filters filterType=WILDCARD,filter=cli-*`),
					`'{cli-*}'`,
				},
				{
					"scan_on_push", `true`, `ecr describe-repositories --repository-names $id --query repositories[0].imageScanningConfiguration.scanOnPush`, "",
					run(`ecr put-image-scanning-configuration --repository-name $id --image-scanning-configuration scanOnPush=false`), `false`,
				},
				{
					"lifecycle_policy", `'` + expire("5") + `'`,
					`ecr get-lifecycle-policy --repository-name $id --query lifecyclePolicyText`, "",
					run(`ecr put-lifecycle-policy --repository-name $id --lifecycle-policy-text '` + expire("6") + `'`),
					`'` + expire("6") + `'`,
				},
				tags(`ecr list-tags-for-resource --resource-arn $repository_arn --query tags`,
					`ecr tag-resource --resource-arn $repository_arn --tags Key=by,Value=cli`),
			},
			Replace: Replace{Column: "repository_name", SQL: `'repository-other'`, ID: "repository-other"},
			Fixed: []Change{
				{Column: "encryption_type", SQL: `'KMS'`,
					See: `ecr describe-repositories --repository-names $id --query repositories[0].encryptionConfiguration.encryptionType`},
				{
					Column: "kms_key", SQL: `'arn:aws:kms:us-east-1:$account:key/0b5f5b5e-0000-4000-8000-000000000001'`,
					See: `ecr describe-repositories --repository-names $id --query repositories[0].encryptionConfiguration.kmsKey`,
				},
			},
		},
		{
			Name: "repository_policy", ID: "home-$n",
			Find: `repository_id = (SELECT id FROM repository WHERE repository_name = '$id')`,
			Insert: `(repository_id, policy) SELECT id, '` + pull("sql") +
				`' FROM repository WHERE repository_name = '$id'`,
			See:    `ecr get-repository-policy --repository-name $id`,
			Create: run(`ecr set-repository-policy --repository-name $id --policy-text '` + pull("first") + `'`),
			Delete: run(`ecr delete-repository-policy --repository-name $id`),
			Change: []Change{{
				"policy", `'` + pull("second") + `'`,
				`ecr get-repository-policy --repository-name $id --query policyText`, "",
				run(`ecr set-repository-policy --repository-name $id --policy-text '` + pull("third") + `'`),
				`'` + pull("third") + `'`,
			}},
			Replace: Replace{Column: "repository_id",
				SQL: `(SELECT id FROM repository WHERE repository_name = 'home-other')`, ID: "home-other"},
		},
		{
			Name: "repository_image", Identity: "image_digest", ID: "", Find: `'$n' = ANY (image_tags)`,
			See: `ecr list-images --repository-name home-cli --query imageIds[?imageDigest==\'$id\']`,
			Create: run(`ecr put-image --repository-name home-cli --image-tag $n --image-manifest '` + manifest +
				`' --query image.imageId.imageDigest`),
			Delete: run(`ecr batch-delete-image --repository-name home-cli --image-ids imageDigest=$id`),
		},
		{Name: "public_repository", Missing: "moto: no ecr-public DescribeRepositories, nor any other call of " +
			"ecr-public"},
		{Name: "public_repository_image",
			Missing: "moto: no ecr-public DescribeRepositories, nor any other call of ecr-public"},
	},
}

// manifest is an image's manifest, another for each object: moto makes an image's
// digest from those of its layers.
const manifest = `{"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json", "config": {"mediaType": "application/vnd.docker.container.image.v1+json", "size": 7023, "digest": "sha256:$i"}, "layers": [{"mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip", "size": 32654, "digest": "sha256:layer-$i"}]}`

func expire(n string) string {
	return `{"rules": [{"rulePriority": 1, "selection": {"tagStatus": "untagged", "countType": "imageCountMoreThan", "countNumber": ` + n + `}, "action": {"type": "expire"}}]}`
}

func pull(sid string) string {
	return `{"Version": "2012-10-17", "Statement": [{"Sid": "` + sid +
		`", "Effect": "Allow", "Principal": "*", "Action": "ecr:BatchGetImage"}]}`
}
